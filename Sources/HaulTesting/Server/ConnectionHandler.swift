internal import NIOCore
internal import NIOHTTP1

/// Answers the requests of one connection, one after the other.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart

    private let number: Int
    private let log: ServerLog<TestRequest>
    private let answers: AnswerCount
    private let handler: @Sendable (TestRequest) -> TestReply

    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var waiting: [TestRequest] = []
    private var runner: StepRunner?
    private var isAnswering = false

    init(
        number: Int,
        log: ServerLog<TestRequest>,
        answers: AnswerCount,
        handler: @escaping @Sendable (TestRequest) -> TestReply
    ) {
        self.number = number
        self.log = log
        self.answers = answers
        self.handler = handler
    }

    func handlerAdded(context: ChannelHandlerContext) {
        runner = StepRunner(channel: context.channel) { [log] in log.sent($0) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body(let bytes): body += bytes.readableBytesView
        case .end:
            guard let head else { return }
            self.head = nil
            defer { body = [] }
            let others = answers.begin()
            let remoteAddress = context.channel.remoteAddress?.ipAddress
            let request = log.record { requestNumber in
                TestRequest(
                    method: head.method.rawValue,
                    target: head.uri,
                    headers: head.headers.map { ($0.name, $0.value) },
                    body: body,
                    remoteAddress: remoteAddress,
                    connectionNumber: number,
                    requestNumber: requestNumber,
                    othersInProgress: others
                )
            }
            waiting.append(request)
            answerNext()
        }
    }

    private func answerNext() {
        guard !isAnswering, !waiting.isEmpty, let runner else { return }
        isAnswering = true
        let reply = handler(waiting.removeFirst())
        runner.run(reply.keepsAlive ? reply.steps : reply.steps + [.close]) { [weak self] in
            self?.isAnswering = false
            self?.answers.end()
            self?.answerNext()
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        // Counts the waiting requests and the one that is being answered as ended.
        for _ in 0..<waiting.count + (isAnswering ? 1 : 0) { answers.end() }
        isAnswering = false
        waiting = []
        runner?.cancel()
        runner = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Sends no answer, because the request is not HTTP, or the peer is gone or does not trust the certificate.
        context.close(promise: nil)
    }
}
