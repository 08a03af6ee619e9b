import Dispatch
import Foundation
import HaulKit

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Keeps a folder in step with a list: `ListMirror LIST-URL FOLDER [SECONDS]`.
///
/// The list is a text file with one URL per line. Empty lines and lines that begin with `#` are ignored. The program
/// reads the list every `SECONDS` seconds, or once if `SECONDS` is 0. SIGTERM and SIGINT end the program in order. The
/// next start resumes unfinished downloads.
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
            // The default action would end the process before the dispatch source handles the signal.
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

/// A list, the folder that follows it, and the downloader.
struct Mirror: Sendable {
    private let list: URL
    private let folder: String
    private let downloader: Downloader
    private let printing: Task<Void, Never>

    /// Opens the store and restores the downloads of earlier runs.
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

    /// Returns once all received bytes are on disk and every event is printed.
    func shutDown() async {
        await downloader.shutDown()
        await printing.value
    }

    /// Follows the list until the task is cancelled. With an interval of zero, follows the list once and waits for all
    /// downloads.
    ///
    /// - Returns: Whether all downloads of the list are complete. `true` if the task was cancelled.
    /// - Throws: The error of the list, if `interval` is zero.
    func run(every interval: Duration) async throws -> Bool {
        while !Task.isCancelled {
            do {
                let downloads = try await follow()
                if interval == .zero { return await wait(for: downloads) }
            } catch {
                if Task.isCancelled { break }
                if interval == .zero { throw error }
                // If the list cannot be read, the folder stays as it is.
                ListMirror.complain("\(error)")
            }
            // The sleep throws only if the task is cancelled, and the loop checks that.
            try? await Task.sleep(for: interval)
        }
        return true
    }

    /// Removes downloads that the list no longer has, and adds all that it has.
    private func follow() async throws -> [Result<Download, DownloadError>] {
        let wanted = try await readList()
        let present = Set(try await downloader.list().compactMap(\.key))
        try await downloader.remove(.keys(present.subtracting(wanted)), deletingFiles: true)
        // `add` returns complete downloads unchanged. Failed downloads, and downloads whose file is gone, start again.
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
        // `add` refuses the placeholder for an invalid URL, as it refuses every URL that it cannot request.
        var request = DownloadRequest(URL(string: line) ?? URL(fileURLWithPath: "/"), to: .folder(path: folder))
        request.key = line
        return request
    }

    /// - Returns: Whether all downloads are complete. `true` if the task was cancelled.
    private func wait(for added: [Result<Download, DownloadError>]) async -> Bool {
        var isComplete = true
        for result in added {
            do throws(DownloadError) {
                _ = try await result.get().result()
            } catch { isComplete = false }
        }
        return isComplete || Task.isCancelled
    }

    /// Prints one line for each event except progress.
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
        // Flushes, so that a reader of the log sees the line at once.
        fflush(nil)
    }
}

/// Reason why the list is unknown.
struct ListError: Error, CustomStringConvertible {
    let sentence: String
    var description: String { sentence }
}
