import Foundation
import HaulAria2
import HaulKit
import HaulServer

/// Downloads the files that the command line and the input file name.
struct Aria2Run: Sendable {
    let downloader: Downloader
    let settings: Aria2Settings
    let console: Aria2Console
    let hooks: Aria2Hooks
    private let start = Date()

    init(_ downloader: Downloader, _ settings: Aria2Settings, _ console: Aria2Console, _ hooks: Aria2Hooks) {
        (self.downloader, self.settings, self.console, self.hooks) = (downloader, settings, console, hooks)
    }

    /// Number of requests that are added in one transaction.
    private static let addedTogether = 256

    /// A download with its request and GID, as the session file records them.
    private struct Item: Sendable {
        let request: Aria2Request
        let gid: GID
        let download: Download
    }

    func run() async {
        console.log.write(.notice, "Downloading \(settings.requests.count) item(s)")
        let saver = SessionSaver(settings.global)
        await downloader.expectMoreDownloads(true)
        let saving = saving(saver)
        await withTaskGroup(of: Void.self) { group in
            // Limits the number, because the option accepts any positive number.
            let most = min(settings.global.limit("max-concurrent-downloads") ?? 5, 1 << 20)
            let limit = max(1024, 4 * Int(clamping: most))
            var followed = 0
            var rest = settings.requests[...]
            while !rest.isEmpty, !Interruption.hasHappened {
                let part = rest.prefix(Self.addedTogether)
                rest = rest.dropFirst(part.count)
                let (items, notAdded) = await add(Array(part))
                rest.insert(contentsOf: notAdded, at: rest.startIndex)
                for item in items {
                    followed += 1
                    await saver.add(item.gid, item.request)
                    group.addTask { await saver.ended(item.gid, await follow(item)) }
                }
                while followed > limit, await group.next() != nil { followed -= 1 }
            }
            // Saves the requests that were not added because of an interruption, so that the next run finds them in the
            // session file.
            for request in rest { await saver.add(Self.gid(of: request) ?? .random(), request) }
            await downloader.expectMoreDownloads(false)
            await group.waitForAll()
        }
        saving?.cancel()
        await saver.save(console.log)
    }

    /// Starts the task that saves the session at the interval that the options name. Returns `nil` if the options name
    /// no interval or no session file.
    private func saving(_ saver: SessionSaver) -> Task<Void, Never>? {
        guard let interval = settings.global.seconds("save-session-interval"), saver.isWanted else { return nil }
        let log = console.log
        return Task { await saver.save(each: interval, log) }
    }

    private static func gid(of request: Aria2Request) -> GID? { request.options["gid"].flatMap { GID($0) } }

    /// Adds downloads.
    ///
    /// - Returns: the added downloads, and the requests that came after the downloader was shut down.
    private func add(_ requests: [Aria2Request]) async -> (items: [Item], notAdded: [Aria2Request]) {
        var possible: [(request: Aria2Request, gid: GID?)] = []
        var made: [DownloadRequest] = []
        for request in requests {
            let gid = Self.gid(of: request)
            do throws(Aria2Error) {
                made.append(try request.downloadRequest(global: settings.global, roots: nil))
                possible.append((request, gid))
            } catch { refused(request, gid, error) }
        }
        var items: [Item] = []
        var notAdded: [Aria2Request] = []
        var seen: Set<DownloadID> = []
        let results = await downloader.add(made)
        for (index, one) in possible.enumerated() {
            let result = await again(results[index], made[index])
            switch result {
            // Skips a URI that is named twice, because both requests have the same download.
            case .success(let download) where !seen.insert(download.id).inserted: break
            case .success(let download):
                items.append(Item(request: one.request, gid: one.gid ?? GID(download.id), download: download))
            case .failure(let error) where error.code == .shutDown: notAdded.append(one.request)
            case .failure(let error): refused(one.request, one.gid, Aria2Error(error))
            }
        }
        return (items, notAdded)
    }

    /// Adds a request again if an earlier process completed its download, because aria2 does not remember completed
    /// files. With `--continue` Haul then compares the file with the server's.
    private func again(
        _ result: Result<Download, DownloadError>,
        _ request: DownloadRequest
    ) async -> Result<Download, DownloadError> {
        guard case .success(let download) = result,
            download.snapshot.state == .completed, let end = download.snapshot.endedAt, end < start
        else { return result }
        do throws(DownloadError) {
            try await download.remove()
            return .success(try await downloader.add(request))
        } catch { return .failure(error) }
    }

    private func refused(_ request: Aria2Request, _ gid: GID?, _ error: Aria2Error) {
        console.refused(error, uri: request.uris.first ?? "", gid ?? .random())
    }

    private func follow(_ item: Item) async -> DownloadOutcome {
        var hasStarted = false
        for await event in item.download.events {
            switch event {
            case .changed(let snapshot):
                console.changed(snapshot, item.gid)
                if !hasStarted, snapshot.state == .connecting || snapshot.state == .transferring {
                    hasStarted = true
                    hooks.run(.start, item.gid, path: snapshot.path)
                }
            case .progressed(let snapshot): console.progressed(snapshot)
            case .ended(let outcome):
                let snapshot = item.download.snapshot
                console.ended(snapshot, outcome, item.gid)
                switch outcome {
                case .completed(let completed): hooks.run(.complete, item.gid, path: completed.path)
                case .failed(let error) where error.code == .shutDown: hooks.run(.stop, item.gid, path: snapshot.path)
                case .failed: hooks.run(.error, item.gid, path: snapshot.path)
                case .cancelled: hooks.run(.stop, item.gid, path: snapshot.path)
                }
                return outcome
            }
        }
        return .cancelled
    }
}

/// Writes the session file of a run.
private actor SessionSaver {
    nonisolated let isWanted: Bool
    private let path: String
    private let savesNotFound: Bool
    private var rows: [GID: Aria2SessionFile.Row] = [:]
    private var order: [GID] = []

    init(_ options: Aria2Options) {
        path = options["save-session"] ?? ""
        isWanted = !path.isEmpty
        savesNotFound = options["save-not-found"] != "false"
    }

    func add(_ gid: GID, _ request: Aria2Request) {
        guard isWanted else { return }
        if rows[gid] == nil { order.append(gid) }
        rows[gid] = .init(gid: gid, uris: request.uris, options: request.options, status: .waiting)
    }

    func ended(_ gid: GID, _ outcome: DownloadOutcome) {
        rows[gid]?.status =
            switch outcome {
            case .completed: .complete
            case .failed(let error) where error.code == .shutDown: .waiting
            case .failed(let error): .failed(Aria2ErrorCode(error))
            case .cancelled: .removed
            }
    }

    func save(each interval: Duration, _ log: Aria2Log) async {
        while !Task.isCancelled {
            do { try await Task.sleep(for: interval) } catch { return }
            save(log)
        }
    }

    func save(_ log: Aria2Log) {
        guard isWanted else { return }
        let data = Aria2SessionFile.contents(order.compactMap { rows[$0] }, savesNotFound: savesNotFound)
        do throws(Aria2Error) {
            try Aria2SessionFile.write(data, to: path)
            log.write(.notice, "Serialized session to '\(path)' successfully.")
        } catch { log.write(.error, error.message) }
    }
}
