import Foundation
import NIOCore
import NIOPosix
import Synchronization

@testable import HaulCore
@testable import HaulKit

/// A protocol other than HTTP: `memory:NAME` reads a file that a test has put there.
final class MemoryReader: SourceReading {
    struct File: Sendable {
        var bytes: [UInt8]
        /// The tag of the version; `nil` if versions cannot be told apart.
        var version: String?
        var servesRanges = true
    }
    private struct State {
        var files: [String: File] = [:]
        var requests: [TransportRequest] = []
        /// The lengths after which the next responses break off.
        var cuts: [Int] = []
        /// The files after the next cut.
        var filesAfterCut: [String: File] = [:]
        /// Number of requests after which the second half of a body is sent.
        var requestsBeforeRest = 0
        var isShutDown = false
    }

    let schemes = ["memory"]
    private let state = Mutex(State())
    private static let chunk = 16 << 10

    var requests: [TransportRequest] { state.withLock(\.requests) }
    var isShutDown: Bool { state.withLock(\.isShutDown) }

    func put(_ file: File, as name: String) { state.withLock { $0.files[name] = file } }
    func cut(after bytes: Int...) { state.withLock { $0.cuts = bytes } }
    /// Replaces the file as soon as a response breaks off.
    func replaceAtCut(_ file: File, as name: String) { state.withLock { $0.filesAfterCut[name] = file } }
    /// Stops each response after its first half until `requests` requests have come.
    func holdUntil(requests: Int) { state.withLock { $0.requestsBeforeRest = requests } }

    private static func name(_ url: URL) -> String { String(url.absoluteString.dropFirst("memory:".count)) }

    func check(_ url: URL) throws(DownloadError) {
        guard !Self.name(url).isEmpty else { throw DownloadError(.invalidURL, "A memory URL needs a name.") }
    }

    func open(_ request: TransportRequest, receiver: any ResponseReceiver) -> any Exchange {
        let (file, cut): (File?, Int?) = state.withLock { state in
            state.requests.append(request)
            return (state.files[Self.name(request.url)], state.cuts.isEmpty ? nil : state.cuts.removeFirst())
        }
        let exchange = ScriptedExchange()
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        Task {
            let failure = await self.play(file, request, cut, exchange, receiver, eventLoop)
            eventLoop.execute { receiver.ended(failure) }
        }
        return exchange
    }

    func shutDown() async { state.withLock { $0.isShutDown = true } }

    private func play(
        _ file: File?,
        _ request: TransportRequest,
        _ cut: Int?,
        _ exchange: ScriptedExchange,
        _ receiver: any ResponseReceiver,
        _ eventLoop: any EventLoop
    ) async -> TransportError? {
        let lost = TransportError(.connectionLost)
        var asked = request
        if file?.servesRanges == false { (asked.firstByte, asked.end) = (0, nil) }
        let response = file.map { FileResponse(to: asked, length: Int64($0.bytes.count), version: $0.version) }
        let head = response?.head ?? ResponseHead(status: 404, fields: [], url: request.url)
        do {
            try await eventLoop.flatSubmit { receiver.headReceived(head, on: eventLoop) }.get()
            guard let file, let response else { return nil }
            let body = Array(file.bytes[Int(response.body.lowerBound)..<Int(response.body.upperBound)])
            for start in stride(from: 0, to: body.count, by: Self.chunk) {
                while start >= body.count / 2, requests.count < state.withLock(\.requestsBeforeRest) {
                    if exchange.isCancelled { return lost }
                    try await Task.sleep(for: .milliseconds(1))
                }
                if exchange.isCancelled { return lost }
                let end = min(start + Self.chunk, body.count, cut ?? .max)
                if start < end {
                    let bytes = ByteBuffer(bytes: body[start..<end])
                    try await eventLoop.flatSubmit {
                        receiver.bodyReceived(bytes, on: eventLoop) ?? eventLoop.makeSucceededVoidFuture()
                    }.get()
                }
                if end == cut {
                    state.withLock { $0.files.merge($0.filesAfterCut) { $1 } }
                    return lost
                }
            }
        } catch { return lost }
        return exchange.isCancelled ? lost : nil
    }
}
