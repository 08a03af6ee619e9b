package import Foundation
public import HaulKit
internal import Synchronization

/// The responses of the servers of a scripted downloader, by URL, and the requests that the servers received.
///
/// ```swift
/// let script = DownloadScript()
/// try script.respond(to: "https://example.org/lesson.mp4", with: .data(bytes).inSteps(4))
/// try script.respond(to: "https://example.org/gone.mp4", with: .status(404))
/// let downloader = try await Downloader.scripted(script)
/// ```
///
/// A request for any other URL fails with ``HaulKit/DownloadError/Code/connectionFailed`` and a message that names the
/// URL. Responses may be set at any time, also while downloads run.
public final class DownloadScript: Sendable {
    /// A request that a scripted downloader has sent.
    public struct Request: Sendable, Hashable {
        /// The URL as it was requested.
        package let url: URL
        /// The application's header fields, in their order.
        public let headers: [HeaderField]
        /// Position of the first requested byte in the file; above 0 when a download is resumed.
        public let firstByte: Int64
    }

    private struct Entry {
        var responses: [ScriptedResponse]
        /// Advances by one second at each step of the present response.
        var steps = ManualClock()
    }
    private struct State {
        var entries: [String: Entry] = [:]
        var requests: [Request] = []
        /// The calls of ``request(to:)`` that wait.
        var waiting: [Int: AsyncStream<Request>.Continuation] = [:]
        var lastWaiting = 0
    }
    private let state = Mutex(State())

    /// Path of a temporary folder for the files of this script's downloads. The folder is made with the first file and
    /// removed with the script. The script lives at least as long as its downloader.
    public let folder: String

    /// Makes a script without responses.
    public init() { folder = FileManager.default.temporaryDirectory.path + "/haul-script-\(UUID().uuidString)" }

    deinit {
        // Ignores errors, because the folder exists only if something was downloaded into it.
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Sets the responses for a URL, in place of earlier ones.
    ///
    /// The next response follows when the present one was sent to its end or has failed. So a download that is paused
    /// and resumed keeps its response. The last response stays.
    ///
    /// - Throws: ``HaulKit/DownloadError`` with code ``HaulKit/DownloadError/Code/invalidURL``.
    public func respond(to url: some DownloadRequest.URLConvertible, with responses: ScriptedResponse...)
        throws(DownloadError)
    {
        let key = Self.key(try url.downloadURL())
        state.withLock { $0.entries[key] = responses.isEmpty ? nil : Entry(responses: responses) }
    }

    /// Lets the next part of the present response for a URL arrive (see ``ScriptedResponse/inSteps(_:every:)``). Steps
    /// may come before the request. A URL without responses is ignored.
    ///
    /// - Throws: ``HaulKit/DownloadError`` with code ``HaulKit/DownloadError/Code/invalidURL``.
    public func step(_ url: some DownloadRequest.URLConvertible) throws(DownloadError) {
        let key = Self.key(try url.downloadURL())
        state.withLock { $0.entries[key]?.steps }?.advance(by: Self.stepTime)
    }

    /// Lets the next part of the present response for every URL arrive.
    public func step() {
        for steps in state.withLock({ $0.entries.values.map(\.steps) }) { steps.advance(by: Self.stepTime) }
    }

    /// The requests so far, in the order in which they came.
    package var requests: [Request] { state.withLock { $0.requests } }

    /// Waits for the first request for a URL, and returns it. A request that has come already counts.
    ///
    /// ```swift
    /// let request = try await script.request(to: url)
    /// ```
    ///
    /// - Returns: `nil` if the task is cancelled first.
    /// - Throws: ``HaulKit/DownloadError`` with code ``HaulKit/DownloadError/Code/invalidURL``.
    public func request(to url: some DownloadRequest.URLConvertible) async throws(DownloadError) -> Request? {
        let key = Self.key(try url.downloadURL())
        let (stream, continuation) = AsyncStream.makeStream(of: Request.self)
        let number = state.withLock { state in
            for request in state.requests { continuation.yield(request) }
            state.lastWaiting += 1
            state.waiting[state.lastWaiting] = continuation
            return state.lastWaiting
        }
        defer { state.withLock { $0.waiting[number] = nil } }
        for await request in stream where Self.key(request.url) == key { return request }
        return nil
    }

    // MARK: Answering

    struct Answer: Sendable {
        let key: String
        let response: ScriptedResponse
        let steps: ManualClock
    }

    static let stepTime = Duration.seconds(1)

    /// Records a request and returns the answer to it, or `nil` if the script has none.
    func answer(_ request: Request) -> Answer? {
        let key = Self.key(request.url)
        return state.withLock { state in
            state.requests.append(request)
            for continuation in state.waiting.values { continuation.yield(request) }
            guard let entry = state.entries[key], let response = entry.responses.first else { return nil }
            return Answer(key: key, response: response, steps: entry.steps)
        }
    }

    /// Notes that an answer has reached its end or has failed, so that the next response follows.
    func finished(_ answer: Answer) {
        state.withLock { state in
            // Keeps the last response. Does nothing if another request has finished the response or other responses
            // were set meanwhile.
            guard let entry = state.entries[answer.key], entry.steps === answer.steps, entry.responses.count > 1 else {
                return
            }
            state.entries[answer.key] = Entry(responses: Array(entry.responses.dropFirst()))
        }
    }

    private static func key(_ url: URL) -> String { String(url.absoluteString.prefix { $0 != "#" }) }
}
