internal import NIOCore

/// Performs steps on one connection, on its event loop.
final class StepRunner {
    private static let blockLength: Int64 = 64 << 10

    private let channel: any Channel
    private let onBodySent: (Int64) -> Void
    private var steps: ArraySlice<TestStep> = []
    private var onFinish: () -> Void = {}
    private var timer: Scheduled<Void>?

    init(channel: any Channel, onBodySent: @escaping (Int64) -> Void) {
        self.channel = channel
        self.onBodySent = onBodySent
    }

    /// Performs the steps and then calls `onFinish`, unless a step or the peer ends the connection.
    func run(_ steps: [TestStep], onFinish: @escaping () -> Void) {
        self.steps = steps[...]
        self.onFinish = onFinish
        next()
    }

    /// Drops the remaining steps.
    func cancel() {
        timer?.cancel()
        timer = nil
        steps = []
        onFinish = {}
    }

    private func next() {
        guard let step = steps.popFirst() else { return onFinish() }
        switch step {
        case .head(let status, let reason, let headers):
            let lines = ["HTTP/1.1 \(status) \(reason)"] + headers.map { "\($0.0): \($0.1)" }
            write(ByteBuffer(string: lines.joined(separator: "\r\n") + "\r\n\r\n"), then: next)
        case .raw(let bytes): write(ByteBuffer(bytes: bytes), then: next)
        case .body(let range, let content): stream(range, of: content, then: next)
        case .chunked(let range, let content, let isTerminated):
            stream(range, of: content, isChunked: true) { [self] in
                isTerminated ? write(ByteBuffer(string: "0\r\n\r\n"), then: next) : next()
            }
        case .slow(let range, let content, let pace): send(range, of: content, bytesPerSecond: pace)
        case .wait(let duration): schedule(at: .now() + TimeAmount(duration), next)
        case .waitUntil(let condition): wait(until: condition)
        case .stall: break
        case .close: channel.close(promise: nil)
        case .closeAbruptly: channel.closeTransport()
        case .reset: channel.resetWhenDelivered()
        }
    }

    /// Sends a range block by block.
    private func stream(
        _ range: Range<Int64>,
        of content: TestContent,
        isChunked: Bool = false,
        then done: @escaping () -> Void
    ) {
        guard !range.isEmpty else { return done() }
        let end = min(range.upperBound, range.lowerBound + Self.blockLength)
        let block = content.buffer(range.lowerBound..<end, isChunk: isChunked, from: channel.allocator)
        write(block) { [self] in
            onBodySent(end - range.lowerBound)
            stream(end..<range.upperBound, of: content, isChunked: isChunked, then: done)
        }
    }

    /// Sends a range in small blocks, each at its due time.
    private func send(_ range: Range<Int64>, of content: TestContent, bytesPerSecond: Int) {
        let pace = Int64(max(1, bytesPerSecond))
        let length = max(1, pace / 20)
        let interval = TimeAmount.nanoseconds(length * 1_000_000_000 / pace)
        sendBlock(of: range, of: content, length: length, interval: interval, due: .now() + interval)
    }

    private func sendBlock(
        of range: Range<Int64>,
        of content: TestContent,
        length: Int64,
        interval: TimeAmount,
        due: NIODeadline
    ) {
        guard !range.isEmpty else { return next() }
        schedule(at: due) { [self] in
            let end = min(range.upperBound, range.lowerBound + length)
            write(content.buffer(range.lowerBound..<end, from: channel.allocator)) { [self] in
                onBodySent(end - range.lowerBound)
                // Makes up for one missed block at most, so that a peer that read nothing for a while does not get all
                // of them at once.
                let following = max(due + interval, .now() - interval)
                sendBlock(of: end..<range.upperBound, of: content, length: length, interval: interval, due: following)
            }
        }
    }

    /// Writes the buffer, and calls `action` when the system took all of it. After a failure the connection is gone,
    /// and `action` is not called.
    private func write(_ buffer: ByteBuffer, then action: @escaping () -> Void) {
        let loop = channel.eventLoop.assumeIsolated()
        channel.writeAndFlush(buffer).assumeIsolated().whenSuccess {
            // Defers `action`, because the socket often takes the buffer at once. Direct calls would nest as deep as
            // the body has blocks.
            loop.execute(action)
        }
    }

    private func wait(until condition: @escaping @Sendable () -> Bool) {
        guard !condition() else { return next() }
        schedule(at: .now() + .milliseconds(10)) { [self] in wait(until: condition) }
    }

    private func schedule(at deadline: NIODeadline, _ action: @escaping () -> Void) {
        timer = channel.eventLoop.assumeIsolated().scheduleTask(deadline: deadline, action)
    }
}

extension TestContent {
    /// Returns a range as it is sent: plain, or as a chunk of the chunked coding.
    fileprivate func buffer(_ range: Range<Int64>, isChunk: Bool = false, from allocator: ByteBufferAllocator)
        -> ByteBuffer
    {
        var buffer = allocator.buffer(capacity: range.count + 16)
        if isChunk { buffer.writeString(String(range.count, radix: 16) + "\r\n") }
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: range.count) { free in
            fill(UnsafeMutableRawBufferPointer(rebasing: free[..<range.count]), from: range.lowerBound)
            return range.count
        }
        if isChunk { buffer.writeString("\r\n") }
        return buffer
    }
}
