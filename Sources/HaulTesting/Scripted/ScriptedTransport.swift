internal import Foundation
internal import HaulKit
internal import NIOCore
internal import NIOPosix

/// Answers requests from a script. Bodies obey the same back-pressure as those of a network.
final class ScriptedTransport: SourceReading {
    let schemes = HTTPURL.schemes
    private let script: DownloadScript
    /// Reads the clock of the downloader. The returned function waits until a duration has passed since then.
    private let moment: @Sendable () -> WaitAfter
    typealias WaitAfter = @Sendable (Duration) async throws -> Void

    private static let blockBytes = 64 << 10
    private static let cancelled = TransportError(.connectionLost, "cancelled")

    init<C: Clock>(_ script: DownloadScript, _ clock: C) where C.Duration == Duration {
        self.script = script
        moment = {
            let start = clock.now
            return { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
        }
    }

    func check(_ url: URL) throws(DownloadError) { try HTTPURL.check(url) }

    func open(_ request: TransportRequest, receiver: any ResponseReceiver) -> any Exchange {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.any()
        let answer = script.answer(.init(url: request.url, headers: request.headers, firstByte: request.firstByte))
        let task = Task {
            let failure = await play(answer, request, receiver, eventLoop)
            eventLoop.execute { receiver.ended(failure) }
        }
        return ScriptedExchange(task: task)
    }

    /// Does nothing: the downloader has cancelled its exchanges before, and there are no connections.
    func shutDown() async {}

    /// - Returns: the failure of the response; `nil` if the response is complete.
    private func play(
        _ answer: DownloadScript.Answer?,
        _ request: TransportRequest,
        _ receiver: any ResponseReceiver,
        _ eventLoop: any EventLoop
    ) async -> TransportError? {
        guard let answer else {
            let message = "The script has no response for \(request.url.masked)."
            return TransportError(reporting: DownloadError(code: .connectionFailed, message: message))
        }
        switch answer.response.outcome {
        case .failure(let error):
            script.finished(answer)
            return TransportError(reporting: error)
        case .status(let status, let headers):
            script.finished(answer)
            let fields = [("Content-Length", "0")] + headers.map { ($0.key, $0.value) }
            let head = ResponseHead(status: status, fields: fields, url: request.url)
            return await send(head, receiver, eventLoop) ? nil : Self.cancelled
        case .body(let body):
            return await send(body, answer, request, receiver, eventLoop)
        }
    }

    /// - Returns: `false` if the response is not wanted any more.
    private func send(
        _ head: ResponseHead,
        _ receiver: any ResponseReceiver,
        _ eventLoop: any EventLoop
    ) async -> Bool {
        do {
            try await eventLoop.flatSubmit { receiver.headReceived(head, on: eventLoop) }.get()
            return !Task.isCancelled
        } catch { return false }
    }

    private func send(
        _ body: ScriptedResponse.Body,
        _ answer: DownloadScript.Answer,
        _ request: TransportRequest,
        _ receiver: any ResponseReceiver,
        _ eventLoop: any EventLoop
    ) async -> TransportError? {
        let response = FileResponse(body, to: request)
        // Reads the clock before the head is sent, because a test that has seen an effect of the head may move the
        // clock.
        let wait = wait(for: body, answer)
        guard await send(response.head, receiver, eventLoop) else { return Self.cancelled }
        let range = Int(clamping: response.body.lowerBound)..<Int(clamping: response.body.upperBound)
        var rest = range
        var sent = 0
        do {
            for part in 1...body.parts where !rest.isEmpty {
                let boundary = Int(Int64(body.bytes.count) * Int64(part) / Int64(body.parts))
                guard boundary > rest.lowerBound else { continue }
                sent += 1
                try await wait(part, sent)
                let end = min(boundary, rest.upperBound)
                if let failure = body.failure, failure.after < body.bytes.count, failure.after < end {
                    let last = max(failure.after, rest.lowerBound)
                    try await send(body.bytes[rest.lowerBound..<last], receiver, eventLoop)
                    script.finished(answer)
                    return TransportError(reporting: failure.error)
                }
                try await send(body.bytes[rest.lowerBound..<end], receiver, eventLoop)
                rest = end..<rest.upperBound
            }
        } catch { return Self.cancelled }
        if rest.isEmpty, range.upperBound == body.bytes.count { script.finished(answer) }
        return nil
    }

    /// Returns a function that waits until a part may be sent. `part` is the number of the part in the file, `sent` its
    /// number among the parts that this answer sends.
    private func wait(for body: ScriptedResponse.Body, _ answer: DownloadScript.Answer)
        -> @Sendable (_ part: Int, _ sent: Int) async throws -> Void
    {
        switch body.pace {
        case .atOnce: return { _, _ in try Task.checkCancellation() }
        case .steps:
            return { part, _ in
                let steps = answer.steps
                try await steps.sleep(until: steps.start.advanced(by: DownloadScript.stepTime * part))
            }
        case .every(let interval):
            let wait = moment()
            return { _, sent in try await wait(interval * sent) }
        }
    }

    private func send(
        _ bytes: ArraySlice<UInt8>,
        _ receiver: any ResponseReceiver,
        _ eventLoop: any EventLoop
    ) async throws {
        var rest = bytes
        while !rest.isEmpty {
            try Task.checkCancellation()
            let block = ByteBuffer(bytes: rest.prefix(Self.blockBytes))
            rest = rest.dropFirst(Self.blockBytes)
            try await eventLoop.flatSubmit {
                receiver.bodyReceived(block, on: eventLoop) ?? eventLoop.makeSucceededVoidFuture()
            }.get()
        }
    }
}

extension FileResponse {
    init(_ body: ScriptedResponse.Body, to request: TransportRequest) {
        var fields = [("Content-Type", body.contentType), ("Accept-Ranges", "bytes")]
        if let name = body.fileName?.addingPercentEncoding(withAllowedCharacters: .alphanumerics) {
            fields.append(("Content-Disposition", "attachment; filename*=UTF-8''\(name)"))
        }
        self.init(to: request, length: Int64(body.bytes.count), version: body.version, fields: fields)
    }
}

private struct ScriptedExchange: Exchange {
    let task: Task<Void, Never>
    func cancel() { task.cancel() }
}
