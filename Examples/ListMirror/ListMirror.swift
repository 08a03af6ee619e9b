import Dispatch
import Foundation
import HaulKit

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Keeps a folder as a list says: `ListMirror LIST-URL FOLDER [SECONDS]`.
///
/// The list is a text file with a URL on each line; empty lines and those that begin with `#` do not count. It is read
/// again every so many seconds, or once with 0. SIGTERM and SIGINT end it in order; what has begun goes on at the next
/// start.
@main enum ListMirror {
    static func main() async {
        let arguments = CommandLine.arguments
        let seconds = arguments.count == 4 ? Int(arguments[3]) : 0
        guard (3...4).contains(arguments.count), let list = URL(string: arguments[1]), list.host != nil,
            let seconds, seconds >= 0
        else {
            complain("usage: ListMirror LIST-URL FOLDER [SECONDS]")
            exit(64)
        }
        do {
            let mirror = try await Mirror(list: list, folder: arguments[2])
            let work = Task { try await mirror.run(every: .seconds(seconds)) }
            let signals = stop(work, on: [SIGTERM, SIGINT])
            let result = await work.result
            await mirror.shutDown()
            signals.forEach { $0.cancel() }
            exit(try result.get() ? 0 : 1)
        } catch {
            complain("\(error)")
            exit(1)
        }
    }

    private static func stop(_ work: Task<Bool, any Error>, on numbers: [Int32]) -> [any DispatchSourceSignal] {
        numbers.map { number in
            // Otherwise the signal would end the process before its source is asked.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { work.cancel() }
            source.activate()
            return source
        }
    }

    static func complain(_ sentence: String) {
        FileHandle.standardError.write(Data((sentence + "\n").utf8))
    }
}

/// A list, the folder that follows it, and the downloader between them.
struct Mirror: Sendable {
    private let list: URL
    private let folder: String
    private let downloader: Downloader
    private let printing: Task<Void, Never>

    /// Takes up what earlier runs left.
    init(list: URL, folder: String) async throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var configuration = Downloader.Configuration(stateFolder: folder + "/.haul")
        configuration.storage.name = "mirror"
        configuration.storage.restoration = .everything
        configuration.queue.maxConcurrentDownloads = 4
        configuration.connections.maxPerHost = 2
        configuration.storage.reservedDiskSpace = 256 << 20
        let downloader = try await Downloader(configuration)
        (self.list, self.folder, self.downloader) = (list, folder, downloader)
        let events = downloader.events
        printing = Task { for await event in events { Self.log(event) } }
    }

    /// Returns when what has begun is on disk and every event is printed.
    func shutDown() async {
        await downloader.shutDown()
        await printing.value
    }

    /// Follows the list until the task is cancelled; with no time between, once and to the end of all downloads.
    ///
    /// - Returns: whether the folder is as the list says; true when the task was cancelled.
    /// - Throws: why the list could not be followed, if that was to be done once.
    func run(every interval: Duration) async throws -> Bool {
        while !Task.isCancelled {
            do {
                let downloads = try await follow()
                if interval == .zero { return await wait(for: downloads) }
            } catch {
                if Task.isCancelled { break }
                if interval == .zero { throw error }
                // A list that cannot be read says nothing: the folder stays as it is.
                ListMirror.complain("\(error)")
            }
            // Ends early only by cancellation, which the loop looks at.
            try? await Task.sleep(for: interval)
        }
        return true
    }

    /// Makes the downloads those of the list.
    private func follow() async throws -> [Result<Download, DownloadError>] {
        let wanted = try await readList()
        let present = Set(try await downloader.list().compactMap(\.key))
        try await downloader.remove(.keys(present.subtracting(wanted)), deletingFiles: true)
        // What is complete comes back as it is; what failed, or whose file is gone, is fetched again.
        let added = await downloader.add(wanted.map(request))
        for case .failure(let error) in added { ListMirror.complain("\(error)") }
        return added
    }

    private func readList() async throws -> [String] {
        let (data, response) = try await URLSession.shared.data(from: list)
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard status == 200 else { throw ListError(sentence: "The list answered \(status).") }
        return String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline)
            .map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }

    private func request(_ line: String) -> DownloadRequest {
        // What is no URL at all is refused when it is added, as any other that cannot be asked.
        var request = DownloadRequest(URL(string: line) ?? URL(fileURLWithPath: "/"), to: .folder(path: folder))
        request.key = line
        return request
    }

    /// - Returns: whether all are complete; true when the task was cancelled.
    private func wait(for added: [Result<Download, DownloadError>]) async -> Bool {
        var isComplete = true
        for result in added {
            do throws(DownloadError) {
                _ = try await result.get().result()
            } catch { isComplete = false }
        }
        return isComplete || Task.isCancelled
    }

    /// One line for each event but progress, which is nothing for a log.
    private static func log(_ event: DownloaderEvent) {
        switch event {
        case .added(let snapshot): print("added\t\(snapshot.url.masked)")
        case .removed(let id, _): print("removed\t\(id)")
        case .changed(let snapshot): print("\(snapshot.state)\t\(snapshot.url.masked)")
        case .progressed: return
        case .ended(let snapshot, .completed(let file)): print("file\t\(snapshot.url.masked)\t\(file.path)")
        case .ended(let snapshot, .failed(let error)): print("error\t\(snapshot.url.masked)\t\(error.message)")
        case .ended(let snapshot, .cancelled): print("dropped\t\(snapshot.url.masked)")
        case .changedTogether(let state, let count): print("\(state)\t\(count) together")
        case .addedTogether(let count): print("added\t\(count) together")
        case .removedTogether(let count): print("removed\t\(count) together")
        case .finished(let summary): print("finished\t\(summary.completed) complete, \(summary.failed) failed")
        }
        // A log is read while it is written.
        fflush(nil)
    }
}

/// Why the list is not known.
struct ListError: Error, CustomStringConvertible {
    let sentence: String
    var description: String { sentence }
}
