internal import NIOCore
internal import Synchronization

/// Receives the body of one response. Compares the overlap with the disk, gathers the other bytes in batches, and hands
/// the batches to the write thread.
///
/// Holds the connection back while the disk is behind, or while bytes arrive faster than the speed limit admits.
final class SegmentSink: Sendable {
    /// Result of taking a part of the body.
    enum Intake {
        case goOn
        /// The connection reads nothing more until the future completes.
        case wait(EventLoopFuture<Void>)
        /// All wanted bytes have arrived, and more than those.
        case enough
        case overlapDiffers
        case failed
    }

    private let part: PartFile
    private let batchSize: Int
    private let speedLimit: RateLimiter?
    private let state: Mutex<State>
    /// Whether a write has failed. Beside the state, because the write thread would often wait for its lock.
    private let hasFailed = Atomic(false)

    /// Most batches handed over at once: one being written, one waiting.
    static let mostOutstanding = 2
    /// Delay after which a batch is written, however small it is. Half the interval of ``ProgressTicker`` with the
    /// default settings, so that the store soon records the bytes as received.
    private static let flushDelay = TimeAmount.milliseconds(25)

    init(
        _ part: PartFile,
        at offset: Int64,
        limit: Int64?,
        expecting overlap: [UInt8],
        repeating repeated: Int64 = 0,
        batchSize: Int,
        speedLimit: RateLimiter? = nil
    ) {
        self.part = part
        self.batchSize = batchSize
        self.speedLimit = speedLimit
        state = Mutex(
            State(
                body: Body(expected: overlap[...], repeated: (Int(repeated), []), wanted: limit),
                batch: WriteBatch(offset: offset)
            )
        )
    }

    func take(_ bytes: ByteBuffer, on eventLoop: any EventLoop) -> Intake {
        var bytes = bytes
        // A write to memory does not block, and copies the bytes to their final position at once.
        let isInMemory = part.file.isInMemory
        return state.withLock { state in
            guard state.writes.failure == nil, !state.writes.isShut else { return .failed }
            guard state.body.compare(&bytes) else { return .overlapDiffers }
            if let repeated = state.body.takeRepeated(&bytes) { compareSeam(repeated, &state) }
            guard state.writes.failure == nil else { return .failed }
            let isEnough = state.body.cut(&bytes)
            if isEnough {
                // The connection is about to be closed, so holding it back is of no use.
                speedLimit?.charge(bytes.readableBytes)
                state.passOnAll()
                state.batch.append(bytes)
            } else {
                state.held.append(bytes)
                passOn(&state, on: eventLoop)
            }
            if state.batch.bytes >= batchSize || isInMemory {
                submit(&state, keepingPartOfBlock: !isEnough && !isInMemory)
            }
            if isEnough { return .enough }
            let isDiskBehind = state.writes.isDiskBehind
            // Schedules a flush also while the disk is behind. After the disk has caught up, no more bytes may come for
            // a long time.
            scheduleFlush(&state, on: eventLoop)
            guard isDiskBehind || !state.held.isEmpty else { return .goOn }
            let waiter = state.waiter ?? eventLoop.makePromise(of: Void.self)
            state.waiter = waiter
            return .wait(waiter.futureResult)
        }
    }

    /// Moves the admitted part of the held bytes into the batch, and sets a timer for the rest.
    private func passOn(_ state: inout State, on eventLoop: any EventLoop) {
        guard !state.held.asksAgain else { return }
        let admission = speedLimit?.admit(state.held.bytes.readableBytes, &state.held.turn)
        guard let admission, let wait = admission.wait else {
            state.passOnAll()
            return
        }
        if let admitted = state.held.bytes.readSlice(length: admission.bytes) { state.batch.append(admitted) }
        state.held.asksAgain = true
        eventLoop.scheduleTask(in: TimeAmount(wait)) { self.passOnMore(on: eventLoop) }
    }

    private func passOnMore(on eventLoop: any EventLoop) {
        let notices: Notices? = state.withLock { state in
            state.held.asksAgain = false
            // The call that emptied `held` has released the waiter too.
            guard !state.held.isEmpty else { return nil }
            passOn(&state, on: eventLoop)
            let isDiskBehind = state.writes.isDiskBehind
            if state.batch.bytes >= batchSize, !isDiskBehind { submit(&state) }
            if state.held.isEmpty, state.held.delaysEnd {
                state.held.delaysEnd = false
                submit(&state)
                return state.takeNotices()
            }
            scheduleFlush(&state, on: eventLoop)
            guard state.held.isEmpty, !isDiskBehind else { return nil }
            return state.takeNotices(reportsEnd: false)
        }
        notices?.send()
    }

    private func scheduleFlush(_ state: inout State, on eventLoop: any EventLoop) {
        guard state.batch.bytes > 0, !state.flush.isDue else { return }
        state.flush.isDue = true
        eventLoop.scheduleTask(in: Self.flushDelay) { self.flush() }
    }

    /// Moves the end of the wanted bytes to `end`, because another connection brings the bytes behind it. A later call
    /// moves the end forward again if that connection no longer brings them. Does nothing after more bytes came than
    /// were wanted.
    func shorten(to end: Int64) {
        state.withLock { state in
            guard !state.body.hadEnough else { return }
            let received = state.batch.bytes + state.held.bytes.readableBytes
            state.body.wanted = max(0, end - state.batch.offset - Int64(received))
        }
    }

    /// Writes the batch, however small it is. If too many writes are under way, the batch is written when the next of
    /// them ends.
    func flush() {
        let notices = state.withLock { state in
            state.flush.isDue = false
            writeBatch(&state)
            return state.takeNotices(releasesWaiter: false, reportsEnd: false)
        }
        notices.send()
    }

    /// Writes the batch, and completes when each byte that was taken so far is written or will never be written.
    func written(on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        let (promise, notices) = state.withLock { state in
            let end = state.batch.offset + Int64(state.batch.bytes + state.held.bytes.readableBytes)
            writeBatch(&state)
            let promise = eventLoop.makePromise(of: Void.self)
            state.written.append((end, promise))
            return (promise, state.takeNotices(releasesWaiter: false, reportsEnd: false))
        }
        notices.send()
        return promise.futureResult
    }

    private func writeBatch(_ state: inout State) {
        guard state.writes.failure == nil else { return }
        if state.writes.isDiskBehind { state.flush.isOwed = true } else { submit(&state) }
    }

    /// Hands over all gathered bytes, even if the disk is behind. The sink hands over nothing after this call.
    func shut() {
        let notices = state.withLock { state in
            state.passOnAll()
            if state.writes.failure == nil { submit(&state) }
            state.writes.isShut = true
            state.batch.buffers = []
            state.batch.bytes = 0
            state.held.drop()
            return state.takeNotices()
        }
        notices.send()
    }

    /// Writes the rest, and calls `done` with the first failure when no write is under way any more.
    ///
    /// - Parameter keepsLimit: whether held bytes still wait for the speed limit.
    func finish(keepsLimit: Bool = false, _ done: @escaping @Sendable (WriteFailure?) -> Void) {
        let notices = state.withLock { state in
            state.onDrained = done
            if keepsLimit, state.held.asksAgain, !state.held.isEmpty, state.writes.failure == nil {
                state.held.delaysEnd = true
            } else {
                state.passOnAll()
                if state.writes.failure == nil { submit(&state) }
            }
            return state.takeNotices()
        }
        notices.send()
    }

    /// Whether the whole overlap came, or none was expected.
    var hasComparedAll: Bool { state.withLock { $0.body.expected.isEmpty } }
    /// Whether the bytes that another connection fetches all came.
    var hasRepeatedAll: Bool { state.withLock { $0.body.repeated.missing == 0 } }

    /// Hands the bytes over that another connection fetches. They lie right before the batch.
    private func compareSeam(_ bytes: [UInt8], _ state: inout State) {
        state.body.repeated.bytes = []
        let offset = state.batch.offset - Int64(bytes.count)
        if state.writes.take(part.compareSeamInMemory(bytes, at: offset)) { return }
        state.writes.offsets.append(offset)
        part.compareSeam(bytes, at: offset) { failure in self.ended(offset, failure) }
    }

    /// Hands the batch to the write thread.
    ///
    /// - Parameter keepsPartOfBlock: whether the bytes behind the last whole block are held back for the next batch.
    ///   Set if more bytes are expected soon, so that the next batch begins at a block boundary of the file.
    private func submit(_ state: inout State, keepingPartOfBlock keepsPartOfBlock: Bool = false) {
        guard !state.batch.buffers.isEmpty, !state.writes.isShut else { return }
        let rest = keepsPartOfBlock ? state.batch.takePartOfBlock() : nil
        let buffers = state.batch.buffers
        let offset = state.batch.offset
        state.batch.offset += Int64(state.batch.bytes)
        state.batch.buffers.removeAll(keepingCapacity: true)
        state.batch.bytes = 0
        if let rest { state.batch.append(rest) }
        if state.writes.take(part.writeInMemory(buffers, at: offset)) { return }
        state.writes.offsets.append(offset)
        // A batch behind one that could not be written would leave a gap in a log.
        part.write(buffers, at: offset, isWanted: { !self.hasFailed.load(ordering: .acquiring) }) { failure in
            self.ended(offset, failure)
        }
    }

    /// Handles the end of the write of the batch at an offset.
    private func ended(_ offset: Int64, _ failure: WriteFailure?) {
        if failure != nil { hasFailed.store(true, ordering: .releasing) }
        let notices = state.withLock { state in
            state.writes.offsets.removeAll { $0 == offset }
            if let failure, state.writes.failure == nil {
                state.writes.failure = failure
                state.held.drop()
            }
            if state.flush.isOwed, state.writes.failure == nil {
                state.flush.isOwed = false
                submit(&state)
            }
            return state.takeNotices(releasesWaiter: state.held.isEmpty)
        }
        notices.send()
    }
}
