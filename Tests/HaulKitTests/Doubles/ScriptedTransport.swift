import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

@testable import HaulCore
@testable import HaulKit

/// A server without a network. A script answers each request, and the body passes through the real back-pressure.
final class ScriptedTransport: SourceReading {
    struct Answer: Sendable {
        var status = 200
        var headers: [(String, String)] = []
        var body: [UInt8] = []
        /// The error that ends the body; `nil` for a complete body.
        var failure: TransportError?
    }

    let schemes = HTTPURL.schemes
    private let script: @Sendable (TransportRequest, Int) -> Answer
    private let chunk: Int
    private let log = Mutex<[TransportRequest]>([])

    init(chunk: Int = 16 * 1024, _ script: @escaping @Sendable (TransportRequest, Int) -> Answer) {
        self.chunk = chunk
        self.script = script
    }

    var requests: [TransportRequest] { log.withLock(\.self) }

    /// Answers as a well-behaved server of one file, with ranges, `If-Range`, `If-Match` and a strong tag.
    static func file(_ content: [UInt8], tag: String, for request: TransportRequest) -> Answer {
        let first = Int(request.firstByte)
        let end = min(request.end.map(Int.init) ?? content.count, content.count)
        let isCurrent = request.condition.field.map { $0.value == tag } ?? true
        if !isCurrent, case .ifMatch = request.condition { return Answer(status: 412) }
        guard first > 0 || request.end != nil, first < end, isCurrent else {
            return Answer(headers: [("ETag", tag), ("Content-Length", "\(content.count)")], body: content)
        }
        return Answer(
            status: 206,
            headers: [
                ("ETag", tag), ("Content-Length", "\(end - first)"),
                ("Content-Range", "bytes \(first)-\(end - 1)/\(content.count)"),
            ],
            body: Array(content[first..<end])
        )
    }

    func check(_ url: URL) throws(DownloadError) { try HTTPURL.check(url) }

    func open(_ request: TransportRequest, receiver: any ResponseReceiver) -> any Exchange {
        let number = log.withLock { log in
            log.append(request)
            return log.count
        }
        let exchange = ScriptedExchange()
        let answer = script(request, number)
        let chunk = chunk
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        Task {
            let failure = await Self.play(answer, request, chunk, exchange, receiver, eventLoop)
            eventLoop.execute { receiver.ended(failure) }
        }
        return exchange
    }

    private static func play(
        _ answer: Answer,
        _ request: TransportRequest,
        _ chunk: Int,
        _ exchange: ScriptedExchange,
        _ receiver: any ResponseReceiver,
        _ eventLoop: any EventLoop
    ) async -> TransportError? {
        let head = ResponseHead(
            status: answer.status,
            headers: HeaderFields(answer.headers),
            url: request.url,
            requested: request.url
        )
        let cut = TransportError(.connectionLost, "cancelled")
        do {
            try await eventLoop.flatSubmit { receiver.headReceived(head, on: eventLoop) }.get()
            for start in stride(from: 0, to: answer.body.count, by: chunk) {
                if exchange.isCancelled { return cut }
                let bytes = ByteBuffer(bytes: answer.body[start..<min(start + chunk, answer.body.count)])
                try await eventLoop.flatSubmit {
                    receiver.bodyReceived(bytes, on: eventLoop) ?? eventLoop.makeSucceededVoidFuture()
                }.get()
            }
        } catch { return cut }
        return exchange.isCancelled ? cut : answer.failure
    }

    func shutDown() async {}
}

final class ScriptedExchange: Exchange {
    private let flag = Atomic<Bool>(false)
    var isCancelled: Bool { flag.load(ordering: .relaxed) }
    func cancel() { flag.store(true, ordering: .relaxed) }
}
