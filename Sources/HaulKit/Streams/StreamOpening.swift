internal import Foundation
internal import NIOCore
internal import Synchronization

/// A request whose answer may be a playlist. Passes the answer on as it is, or makes a film of it.
///
/// A playlist is recognized by its type or its path, and by its first line: see ``StreamPlaylist``.
final class StreamOpening: ResponseReceiver, Exchange {
    private enum Stage {
        case asking
        /// The answer is no playlist.
        case passing
        /// The answer may be a playlist; its body is kept.
        case collecting(ResponseHead, [UInt8], any EventLoop)
        /// The server lacks the playlist of a film that an earlier request began.
        case gone(ResponseHead, any EventLoop)
        case running(Task<Void, Never>)
        case ended
    }
    private struct State {
        var stage = Stage.asking
        var exchange: (any Exchange)?
        var isCancelled = false
    }
    private struct Enough: Error {}

    private let request: TransportRequest
    private let terms: StreamTerms
    private let readers: SourceReaders
    private let receiver: any ResponseReceiver
    private let state = Mutex(State())

    private init(
        _ request: TransportRequest,
        _ terms: StreamTerms,
        _ readers: SourceReaders,
        _ receiver: any ResponseReceiver
    ) {
        self.request = request
        self.terms = terms
        self.receiver = receiver
        self.readers = readers
    }

    /// Sends a request for everything, or for the rest of a film; see ``SourceReaders/open(_:receiver:)``.
    static func open(
        _ request: TransportRequest,
        _ terms: StreamTerms,
        over readers: SourceReaders,
        receiver: any ResponseReceiver
    ) -> any Exchange {
        let opening = StreamOpening(request, terms, readers, receiver)
        // The rest of an ordinary file is asked for as such. Only a server that ignores the range answers with a
        // playlist.
        let asked = terms.log == nil ? request : StreamRequests.playlist(of: request)
        let exchange = readers.open(asked, receiver: opening)
        let isCancelled = opening.state.withLock { state in
            switch state.stage {
            // The exchange has ended already. Keeping it would make a cycle of references.
            case .running, .ended: break
            case .asking, .passing, .collecting, .gone: state.exchange = exchange
            }
            return state.isCancelled
        }
        if isCancelled { exchange.cancel() }
        return opening
    }

    func cancel() {
        let (exchange, task): ((any Exchange)?, Task<Void, Never>?) = state.withLock { state in
            state.isCancelled = true
            if case .running(let task) = state.stage { return (state.exchange, task) }
            return (state.exchange, nil)
        }
        exchange?.cancel()
        task?.cancel()
    }

    // MARK: ResponseReceiver

    func headReceived(_ head: ResponseHead, on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        if head.status == 404 || head.status == 410, request.firstByte > 0, terms.log != nil {
            state.withLock { $0.stage = .gone(head, eventLoop) }
            return eventLoop.makeFailedFuture(Enough())
        }
        let mayBePlaylist =
            (head.status == 200 || head.status == 203)
            && StreamPlaylist.isPlaylist(mediaType: head.mediaType, path: head.url.path)
        guard mayBePlaylist else {
            state.withLock { $0.stage = .passing }
            return receiver.headReceived(head, on: eventLoop)
        }
        state.withLock { $0.stage = .collecting(head, [], eventLoop) }
        return eventLoop.makeSucceededVoidFuture()
    }

    func bodyReceived(_ bytes: ByteBuffer, on eventLoop: any EventLoop) -> EventLoopFuture<Void>? {
        let (isPassing, isTooLong) = state.withLock { state in
            guard case .collecting(let head, var body, let loop) = state.stage else { return (true, false) }
            // Removes the array from the stage first. Otherwise each read would copy the array.
            state.stage = .asking
            body += bytes.readableBytesView
            state.stage = .collecting(head, body, loop)
            return (false, body.count > StreamLimits().playlistBytes)
        }
        if isPassing { return receiver.bodyReceived(bytes, on: eventLoop) }
        return isTooLong ? eventLoop.makeFailedFuture(Enough()) : nil
    }

    func ended(_ failure: TransportError?) {
        let stage = state.withLock { state in
            state.exchange = nil
            defer { state.stage = .ended }
            return state.stage
        }
        if case .gone(let head, let loop) = stage {
            let request = request
            return start(on: loop) { await $0.conclude(request, head) }
        }
        guard case .collecting(let head, let body, let loop) = stage else { return receiver.ended(failure) }
        if body.count > StreamLimits().playlistBytes {
            let error = DownloadError(.invalidStream, "This playlist is longer than 16 MiB.")
            return receiver.ended(TransportError(reporting: error))
        }
        if let failure { return receiver.ended(failure) }
        if StreamPlaylist.isPlainList(body) { return pass(head, body, on: loop) }
        let request = request
        start(on: loop) { await $0.run(request, head, body) }
    }

    private func start(on loop: any EventLoop, _ work: @escaping @Sendable (StreamRun) async -> Void) {
        let run = StreamRun(StreamRequests(request, readers), terms, receiver, on: loop)
        let task = Task { await work(run) }
        let isCancelled = state.withLock { state in
            state.stage = .running(task)
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    /// Passes on the collected answer unchanged, because its body is only a list of files, without a tag of HLS.
    private func pass(_ head: ResponseHead, _ body: [UInt8], on loop: any EventLoop) {
        let receiver = receiver
        loop.execute {
            receiver.headReceived(head, on: loop).flatMap {
                receiver.bodyReceived(ByteBuffer(bytes: body), on: loop) ?? loop.makeSucceededVoidFuture()
            }.whenComplete { result in
                if case .failure = result {
                    receiver.ended(TransportError(.connectionLost, "stopped by us"))
                } else {
                    receiver.ended(nil)
                }
            }
        }
    }
}
