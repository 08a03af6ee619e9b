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

    private struct State {
        var batch: [ByteBuffer] = []
        var batchBytes = 0
        /// Bytes behind the batch that the speed limit has not admitted yet.
        var held = ByteBuffer()
        var turn: RateLimiter.Turn?
        /// Whether a timer will ask the speed limit again.
        var asksAgain = false
        /// Offset of the batch in the file.
        var offset: Int64
        /// Whether more bytes came than were wanted.
        var hadEnough = false
        /// Number of bytes still wanted; `nil` if the end is unknown.
        var wanted: Int64?
        /// Bytes of the overlap on the disk that have not been compared yet.
        var expected: ArraySlice<UInt8>
        var outstanding = 0
        var waiter: EventLoopPromise<Void>?
        var failure: DiskError?
        /// Whether the sink is shut: it hands nothing more to the write thread, because the file may soon hold another
        /// version.
        var isShut = false
        var flushIsDue = false
        /// Whether a flush found too many writes under way. The next write that ends makes up for it.
        var flushIsOwed = false
        var hasFlushed = false
        var onDrained: (@Sendable (DiskError?) -> Void)?
        /// Whether the body has ended and the held bytes still wait for the speed limit.
        var waitsForLimit = false

        /// Removes and returns the callback for the end; `nil` while a write is under way or held bytes wait for the
        /// speed limit.
        mutating func takeDrained() -> (@Sendable (DiskError?) -> Void)? {
            guard outstanding == 0, !waitsForLimit else { return nil }
            defer { onDrained = nil }
            return onDrained
        }
    }

    private let part: PartFile
    private let batchSize: Int
    private let speedLimit: RateLimiter?
    private let state: Mutex<State>

    /// Most batches handed over at once: one being written, one waiting.
    private static let mostOutstanding = 2
    /// Approximate size of the buffers that small reads are copied into.
    private static let joinedSize = 65536
    /// Batches end at a multiple of this size while bytes arrive fast, because `PosixFile` writes whole blocks without
    /// another copy.
    private static let blockSize: Int64 = 4096
    /// The first bytes are written early, so that they can be claimed early. Later bytes are written in time for the
    /// next tick.
    private static let firstFlush = TimeAmount.milliseconds(40)
    private static let laterFlush = TimeAmount.milliseconds(50)

    init(
        _ part: PartFile,
        at offset: Int64,
        limit: Int64?,
        expecting overlap: [UInt8],
        batchSize: Int,
        speedLimit: RateLimiter? = nil
    ) {
        self.part = part
        self.batchSize = batchSize
        self.speedLimit = speedLimit
        state = Mutex(State(offset: offset, wanted: limit, expected: overlap[...]))
    }

    func take(_ bytes: ByteBuffer, on eventLoop: any EventLoop) -> Intake {
        var bytes = bytes
        // A write to memory does not block, and copies the bytes to their final position at once.
        let isInMemory = part.file.isInMemory
        return state.withLock { state in
            guard state.failure == nil, !state.isShut else { return .failed }
            guard Self.compare(&bytes, &state) else { return .overlapDiffers }
            var isEnough = false
            if let wanted = state.wanted {
                if bytes.readableBytes > wanted {
                    bytes = bytes.getSlice(at: bytes.readerIndex, length: Int(wanted)) ?? bytes
                    isEnough = true
                }
                state.wanted = wanted - Int64(bytes.readableBytes)
            }
            if isEnough {
                state.hadEnough = true
                // The connection is about to be closed, so holding it back is of no use.
                speedLimit?.charge(bytes.readableBytes)
                Self.passOnAll(&state)
                Self.append(bytes, to: &state)
            } else {
                hold(bytes, &state)
                passOn(&state, on: eventLoop)
            }
            if state.batchBytes >= batchSize || isInMemory {
                submit(&state, keepingPartOfBlock: !isEnough && !isInMemory)
            }
            if isEnough { return .enough }
            let isDiskBehind = state.outstanding >= Self.mostOutstanding
            // Schedules a flush also while the disk is behind. After the disk has caught up, no more bytes may come for
            // a long time.
            scheduleFlush(&state, on: eventLoop)
            guard isDiskBehind || state.held.readableBytes > 0 else { return .goOn }
            let waiter = state.waiter ?? eventLoop.makePromise(of: Void.self)
            state.waiter = waiter
            return .wait(waiter.futureResult)
        }
    }

    /// Appends bytes to the held ones. Several reads may arrive before the connection stops reading.
    private func hold(_ bytes: ByteBuffer, _ state: inout State) {
        if state.held.readableBytes == 0 {
            state.held = bytes
        } else {
            state.held.writeImmutableBuffer(bytes)
        }
    }

    /// Moves the admitted part of the held bytes into the batch, and sets a timer for the rest.
    private func passOn(_ state: inout State, on eventLoop: any EventLoop) {
        guard !state.asksAgain else { return }
        let admission = speedLimit?.admit(state.held.readableBytes, &state.turn)
        guard let admission, let wait = admission.wait else {
            Self.passOnAll(&state)
            return
        }
        if let admitted = state.held.readSlice(length: admission.bytes) { Self.append(admitted, to: &state) }
        state.asksAgain = true
        eventLoop.scheduleTask(in: TimeAmount(wait)) { self.passOnMore(on: eventLoop) }
    }

    private func passOnMore(on eventLoop: any EventLoop) {
        let (waiter, drained, failure) = state.withLock { state in
            state.asksAgain = false
            let nothing = (nil as EventLoopPromise<Void>?, nil as (@Sendable (DiskError?) -> Void)?, state.failure)
            // The call that emptied `held` has released the waiter too.
            guard state.held.readableBytes > 0 else { return nothing }
            passOn(&state, on: eventLoop)
            let isDiskBehind = state.outstanding >= Self.mostOutstanding
            if state.batchBytes >= batchSize, !isDiskBehind { submit(&state) }
            if state.held.readableBytes == 0, state.waitsForLimit {
                state.waitsForLimit = false
                submit(&state)
                return (Self.releaseWaiter(&state), state.takeDrained(), state.failure)
            }
            scheduleFlush(&state, on: eventLoop)
            guard state.held.readableBytes == 0, !isDiskBehind else { return nothing }
            return (Self.releaseWaiter(&state), nil, state.failure)
        }
        waiter?.succeed(())
        drained?(failure)
    }

    private static func passOnAll(_ state: inout State) {
        append(state.held, to: &state)
        state.held = ByteBuffer()
        state.turn = nil
    }

    private static func releaseWaiter(_ state: inout State) -> EventLoopPromise<Void>? {
        defer { state.waiter = nil }
        return state.waiter
    }

    private func scheduleFlush(_ state: inout State, on eventLoop: any EventLoop) {
        guard state.batchBytes > 0, !state.flushIsDue else { return }
        state.flushIsDue = true
        eventLoop.scheduleTask(in: state.hasFlushed ? Self.laterFlush : Self.firstFlush) { self.flush() }
    }

    /// Moves the end of the wanted bytes to `end`, because another connection brings the bytes behind it. `end` moves
    /// forward when that connection no longer does. Does nothing after more bytes came than were wanted.
    func shorten(to end: Int64) {
        state.withLock { state in
            guard !state.hadEnough else { return }
            state.wanted = max(0, end - state.offset - Int64(state.batchBytes + state.held.readableBytes))
        }
    }

    /// Compares the front of the body with the overlap on the disk. Returns `false` if they differ.
    private static func compare(_ bytes: inout ByteBuffer, _ state: inout State) -> Bool {
        guard !state.expected.isEmpty,
            let again = bytes.readBytes(length: min(bytes.readableBytes, state.expected.count))
        else { return true }
        guard state.expected.starts(with: again) else { return false }
        state.expected = state.expected.dropFirst(again.count)
        return true
    }

    /// Appends bytes to the batch. Copies small reads together, because a server that sends ten bytes at a time must
    /// not cost an I/O vector each.
    ///
    /// Also copies buffers that keep much more memory than they need. The TLS library returns every read in a buffer of
    /// the largest size that it ever needed.
    private static func append(_ bytes: ByteBuffer, to state: inout State) {
        guard bytes.readableBytes > 0 else { return }
        state.batchBytes += bytes.readableBytes
        let isSparse = bytes.storageCapacity > 2 * bytes.readableBytes
        guard isSparse || bytes.readableBytes < 4096 else {
            state.batch.append(bytes)
            return
        }
        if let last = state.batch.last, last.readableBytes < joinedSize {
            state.batch.removeLast()
            var joined = last
            joined.writeImmutableBuffer(bytes)
            state.batch.append(joined)
        } else if isSparse, bytes.storageCapacity > joinedSize {
            var dense = ByteBufferAllocator().buffer(capacity: joinedSize)
            dense.writeImmutableBuffer(bytes)
            state.batch.append(dense)
        } else {
            state.batch.append(bytes)
        }
    }

    /// Writes the batch, however small it is. If too many writes are under way, the next one that ends does so.
    func flush() {
        state.withLock { state in
            state.flushIsDue = false
            guard state.failure == nil else { return }
            if state.outstanding < Self.mostOutstanding { submit(&state) } else { state.flushIsOwed = true }
        }
    }

    /// Hands over all gathered bytes, even if the disk is behind. The sink hands over nothing after this call.
    func shut() {
        let (waiter, drained, failure) = state.withLock { state in
            Self.passOnAll(&state)
            if state.failure == nil { submit(&state) }
            state.isShut = true
            state.batch = []
            state.batchBytes = 0
            state.held = ByteBuffer()
            state.waitsForLimit = false
            return (Self.releaseWaiter(&state), state.takeDrained(), state.failure)
        }
        waiter?.succeed(())
        drained?(failure)
    }

    /// Writes the rest, and calls `done` with the first failure when no write is under way any more.
    ///
    /// - Parameter keepsLimit: whether held bytes still wait for the speed limit.
    func finish(keepsLimit: Bool = false, _ done: @escaping @Sendable (DiskError?) -> Void) {
        let (waiter, drained, failure) = state.withLock { state in
            state.onDrained = done
            if keepsLimit, state.asksAgain, state.held.readableBytes > 0, state.failure == nil {
                state.waitsForLimit = true
            } else {
                Self.passOnAll(&state)
                if state.failure == nil { submit(&state) }
            }
            return (Self.releaseWaiter(&state), state.takeDrained(), state.failure)
        }
        waiter?.succeed(())
        drained?(failure)
    }

    /// Whether the whole overlap came, or none was expected.
    var hasComparedAll: Bool { state.withLock { $0.expected.isEmpty } }

    /// Hands the batch to the write thread.
    ///
    /// - Parameter keepsPartOfBlock: whether the bytes behind the last whole block are held back for the next batch. Set
    ///   if more bytes are expected soon, so that the next batch begins at a block boundary of the file.
    private func submit(_ state: inout State, keepingPartOfBlock keepsPartOfBlock: Bool = false) {
        guard !state.batch.isEmpty, !state.isShut else { return }
        let rest = keepsPartOfBlock ? Self.takePartOfBlock(&state) : nil
        let batch = state.batch
        let offset = state.offset
        state.offset += Int64(state.batchBytes)
        state.batch.removeAll(keepingCapacity: true)
        state.batchBytes = 0
        if let rest { Self.append(rest, to: &state) }
        if let result = part.writeInMemory(batch, at: offset) {
            if case .failure(let failure) = result { state.failure = state.failure ?? failure }
            return
        }
        state.outstanding += 1
        state.hasFlushed = true
        part.write(batch, at: offset) { failure in self.written(failure) }
    }

    /// Removes the bytes behind the last whole block from the batch and returns a copy. A slice would keep the whole
    /// buffer in memory.
    private static func takePartOfBlock(_ state: inout State) -> ByteBuffer? {
        let count = Int((state.offset + Int64(state.batchBytes)) % blockSize)
        guard count > 0, var last = state.batch.popLast() else { return nil }
        guard last.readableBytes > count, let whole = last.readSlice(length: last.readableBytes - count) else {
            state.batch.append(last)
            return nil
        }
        state.batch.append(whole)
        state.batchBytes -= count
        return ByteBuffer(bytes: last.readableBytesView)
    }

    private func written(_ failure: DiskError?) {
        let (waiter, drained, firstFailure) = state.withLock { state in
            state.outstanding -= 1
            if let failure, state.failure == nil {
                state.failure = failure
                state.held = ByteBuffer()
                state.waitsForLimit = false
            }
            if state.flushIsOwed, state.failure == nil {
                state.flushIsOwed = false
                submit(&state)
            }
            let waiter = state.held.readableBytes == 0 ? Self.releaseWaiter(&state) : nil
            return (waiter, state.takeDrained(), state.failure)
        }
        waiter?.succeed(())
        drained?(firstFailure)
    }
}
