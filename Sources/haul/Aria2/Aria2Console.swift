import Foundation
import HaulAria2
import HaulKit
import HaulServer
import Synchronization

/// Prints messages, the progress line, summaries and, at the end, the table of results.
final class Aria2Console: Sendable {
    private struct State {
        var running: [DownloadID: Aria2Readout.Row] = [:]
        var order: [DownloadID] = []
        /// The time of the first `transferring` state of each download, and the bytes it had by then.
        var started: [DownloadID: (at: ContinuousClock.Instant, bytes: Int64)] = [:]
        var results: Aria2Results
        /// The time of the last summary.
        var summarised = ContinuousClock.now
    }

    let log: Aria2Log
    private let readout: Aria2Readout
    private let summaryInterval: Duration?
    private let showsReadout: Bool
    private let cutsReadout: Bool
    /// The form of the table of results; `hide` prints none.
    private let form: String
    /// The folder of `--dir`, if it is relative. Messages show paths below it as the user gave them.
    private let relativeFolder: (absolute: String, named: String)?
    private let state: Mutex<State>

    init(_ options: Aria2Options, _ log: Aria2Log) {
        self.log = log
        readout = Aria2Readout(isHumanReadable: options["human-readable"] != "false")
        let seconds = options.number("summary-interval") ?? 60
        summaryInterval = seconds > 0 ? .seconds(seconds) : nil
        showsReadout = !log.isQuiet && options["show-console-readout"] != "false" && isatty(log.descriptor) == 1
        cutsReadout = options["truncate-console-readout"] != "false"
        form = options["download-result"] ?? "default"
        let most = Int(clamping: options.number("max-download-result") ?? 1000)
        state = Mutex(State(results: Aria2Results(most: most)))
        let folder = options["dir"] ?? ""
        relativeFolder =
            folder.isEmpty || folder.hasPrefix("/")
            ? nil : (FilePaths.absolute(folder, from: FileManager.default.currentDirectoryPath) + "/", folder)
    }

    /// Returns `path` below a relative `--dir` as the user gave it, and any other path unchanged.
    private func shown(_ path: String) -> String {
        guard let relativeFolder, path.hasPrefix(relativeFolder.absolute) else { return path }
        return FilePaths.join(relativeFolder.named, String(path.dropFirst(relativeFolder.absolute.count)))
    }

    var status: Aria2ErrorCode { state.withLock { $0.results.status } }

    func changed(_ snapshot: DownloadSnapshot, _ gid: GID) {
        state.withLock { state in
            switch snapshot.state {
            case let current where current.isActive:
                if state.running[snapshot.id] == nil {
                    state.order.append(snapshot.id)
                    state.running[snapshot.id] = Aria2Readout.Row(gid: gid)
                }
                if snapshot.state == .transferring, state.started[snapshot.id] == nil {
                    state.started[snapshot.id] = (.now, snapshot.receivedBytes)
                }
                update(snapshot, &state)
            case .queued, .paused: leave(snapshot.id, &state)
            default: break
            }
        }
    }

    func progressed(_ snapshot: DownloadSnapshot) { state.withLock { update(snapshot, &$0) } }

    private func update(_ snapshot: DownloadSnapshot, _ state: inout State) {
        guard var row = state.running[snapshot.id] else { return }
        row.received = snapshot.receivedBytes
        row.total = snapshot.totalBytes
        row.connections = snapshot.connections.count
        row.speed = snapshot.bytesPerSecond
        row.path = snapshot.path.map(shown)
        row.uri = snapshot.url.messageText
        row.isVerifying = snapshot.state == .verifying
        state.running[snapshot.id] = row
    }

    /// Forgets a download that has stopped running, and adds no result.
    func removed(_ id: DownloadID) {
        state.withLock { state in
            leave(id, &state)
            state.started[id] = nil
        }
    }

    private func leave(_ id: DownloadID, _ state: inout State) {
        if state.running.removeValue(forKey: id) != nil { state.order.removeAll { $0 == id } }
    }

    func ended(_ snapshot: DownloadSnapshot, _ outcome: DownloadOutcome, _ gid: GID) {
        let started = state.withLock { state in
            leave(snapshot.id, &state)
            return state.started.removeValue(forKey: snapshot.id)
        }
        let place = snapshot.path.map(shown) ?? snapshot.url.messageText
        var row = Aria2Results.Row(gid: gid, status: .complete, received: snapshot.receivedBytes, place: place)
        row.total = snapshot.totalBytes
        if let started {
            row.speed = Self.speed(snapshot.receivedBytes - started.bytes, since: started.at)
        }
        switch outcome {
        case .completed(let completed):
            row.place = shown(completed.path)
            row.received = completed.bytes
            row.total = completed.bytes
            if completed.alreadyExisted {
                log.write(.notice, "GID#\(gid) - Download has already completed: \(row.place)")
            }
            log.write(.notice, "Download complete: \(row.place)")
        case .failed(let error) where error.code == .shutDown: row.status = .unfinished
        case .failed(let error):
            let status = Aria2ErrorCode(error)
            row.status = .failed(status)
            failed(status, error.description, uri: snapshot.url.messageText)
            log.write(.notice, "Download GID#\(gid) not complete: \(snapshot.path.map(shown) ?? "")")
        case .cancelled: row.status = .removed
        }
        if row.status == .unfinished {
            log.write(.notice, "Download GID#\(gid) not complete: \(snapshot.path.map(shown) ?? "")")
        }
        state.withLock { $0.results.add(row) }
    }

    /// Reports a download that could not be added.
    func refused(_ error: Aria2Error, uri: String, _ gid: GID) {
        failed(error.code, error.message, uri: URL.cut(uri))
        state.withLock { $0.results.add(.init(gid: gid, status: .failed(error.code), place: URL.cut(uri))) }
    }

    /// Forgets the result that a client has removed, or all results for `nil`.
    func forgot(_ gid: GID?) { state.withLock { $0.results.forget(gid) } }

    /// Reports a file that a dry run found on the server.
    func found(_ file: ResourceDescription, _ request: DownloadRequest, _ gid: GID) {
        let path =
            switch request.destination {
            case .file(let path): path
            case .folder(let folder): FilePaths.join(folder, file.fileName)
            }
        log.write(.notice, "Download complete: \(path)")
        var row = Aria2Results.Row(gid: gid, status: .complete, speed: 0, place: path)
        row.total = file.totalBytes
        state.withLock { $0.results.add(row) }
    }

    private func failed(_ status: Aria2ErrorCode, _ message: String, uri: String) {
        log.write(.error, "Download aborted. URI=\(uri)\n  -> errorCode=\(status.rawValue) \(message)")
    }

    /// Returns bytes per second. Counts at least 1 ms, because a small file may arrive within the resolution of the
    /// clock.
    static func speed(_ bytes: Int64, since start: ContinuousClock.Instant) -> Int64 {
        let seconds = max(0.001, start.duration(to: .now) / .seconds(1))
        return Int64(max(0, min(Double(bytes) / seconds, 1e18)))
    }

    /// Shows the running downloads once a second, until the task is cancelled.
    func show() async {
        while !Task.isCancelled {
            do { try await Task.sleep(for: .seconds(1)) } catch { return }
            let (rows, isDue) = state.withLock { state in
                let now = ContinuousClock.now
                let isDue = summaryInterval.map { state.summarised.duration(to: now) >= $0 } ?? false
                if isDue { state.summarised = now }
                return (state.order.compactMap { state.running[$0] }, isDue)
            }
            guard !rows.isEmpty else { continue }
            if isDue { log.printed(readout.summary(rows, at: Aria2Log.stamp("%a %b %e %H:%M:%S %Y"))) }
            if showsReadout {
                let text = readout.lines(rows)
                log.readout(cutsReadout ? String(text.prefix(max(0, columns - 1))) : text)
            }
        }
    }

    private var columns: Int {
        var size = winsize()
        guard ioctl(log.descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// Prints the table of results.
    func finish() {
        let results = state.withLock { $0.results }
        log.printed(results.table(form: form, readout, isColoured: log.isColoured))
    }
}
