internal import NIOCore
internal import Synchronization

/// Where the body of one response goes: compares what comes again, batches the rest, hands the batches to the write
/// thread, and holds the connection back while the disk is behind or bytes come faster than the speed limit admits.
final class SegmentSink: Sendable {
    /// What a piece of the body led to.
    enum Intake {
        case goOn
        /// Read nothing more until the future completes.
        case wait(EventLoopFuture<Void>)
        /// Every wanted byte is here; whatever else comes is not ours.
        case enough
        case overlapDiffers
        case failed
    }

    private struct State {
        var batch: [ByteBuffer] = []
        var batchBytes = 0
        /// What follows the batch, once the speed limit admits it.
        var held = ByteBuffer()
        var turn: RateLimiter.Turn?
        /// The speed limit is about to be asked again.
        var asksAgain = false
        /// Where the batch goes.
        var offset: Int64
        /// More came than was wanted.
        var hadEnough = false
        /// Bytes still wanted; nil when the end is not known.
        var wanted: Int64?
        /// What is on disk of the overlap and has not been compared yet.
        var expected: ArraySlice<UInt8>
        var outstanding = 0
        var waiter: EventLoopPromise<Void>?
        var failure: DiskError?
        /// Nothing more is handed to the write thread: the file may soon hold another version.
        var isShut = false
        var flushIsDue = false
        /// A flush found the queue of writes full; the next write that ends frees a place.
        var flushIsOwed = false
        var hasFlushed = false
        var onDrained: (@Sendable (DiskError?) -> Void)?
        /// Nothing more comes, and what is held is written once the speed limit admits it.
        var waitsForLimit = false

        /// What is to be told of the end, once nothing is under way any more.
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

    /// Batches under way at once: one being written, one waiting.
    private static let mostOutstanding = 2
    /// Small reads are copied together into buffers of about this size.
    private static let joinedSize = 65536
    /// Where batches end while bytes come fast: blocks that are written whole need no other copy (`PosixFile`).
    private static let blockSize: Int64 = 4096
    /// The first bytes are written soon, so that there is a first mark soon; later ones in time for the next tick.
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
        // There a write waits for nothing, and the bytes are copied where they belong at once.
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
                // The connection is about to be closed: there is no use in holding it back.
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
            // Also while the disk is behind: once it has caught up nothing more may come for a long time.
            scheduleFlush(&state, on: eventLoop)
            guard isDiskBehind || state.held.readableBytes > 0 else { return .goOn }
            let waiter = state.waiter ?? eventLoop.makePromise(of: Void.self)
            state.waiter = waiter
            return .wait(waiter.futureResult)
        }
    }

    /// More than one piece may come before anybody waits; they are copied together then.
    private func hold(_ bytes: ByteBuffer, _ state: inout State) {
        if state.held.readableBytes == 0 {
            state.held = bytes
        } else {
            state.held.writeImmutableBuffer(bytes)
        }
    }

    /// Moves what the speed limit admits of the held bytes into the batch, and asks again for the rest when it says.
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
            // What emptied it has seen to the waiter, too.
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

    /// Takes nothing from `end` on: what lies there is another connection's to bring. Or it is not any more, and `end` lies
    /// farther on than it did. A body of which enough was taken already is not gone on with.
    func shorten(to end: Int64) {
        state.withLock { state in
            guard !state.hadEnough else { return }
            state.wanted = max(0, end - state.offset - Int64(state.batchBytes + state.held.readableBytes))
        }
    }

    /// Compares the front of the body with what is on disk; false when they differ.
    private static func compare(_ bytes: inout ByteBuffer, _ state: inout State) -> Bool {
        guard !state.expected.isEmpty,
            let again = bytes.readBytes(length: min(bytes.readableBytes, state.expected.count))
        else { return true }
        guard state.expected.starts(with: again) else { return false }
        state.expected = state.expected.dropFirst(again.count)
        return true
    }

    /// Crumbs are copied together: a server that sends ten bytes at a time must not cost a vector each. So are bytes that
    /// keep much more memory than they need: the TLS library hands out every read in a buffer of the largest size that it
    /// ever needed.
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

    /// Writes what has gathered, however little it is.
    func flush() {
        state.withLock { state in
            state.flushIsDue = false
            guard state.failure == nil else { return }
            if state.outstanding < Self.mostOutstanding { submit(&state) } else { state.flushIsOwed = true }
        }
    }

    /// Hands over what has gathered, also where the disk is behind; after this call returns nothing more is handed over.
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

    /// Writes the rest and calls back when nothing is under way any more, with the first failure there was.
    ///
    /// - Parameter keepsLimit: whether what is held waits for the speed limit first, as it would if more came.
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

    /// True when the overlap came whole, or none was expected.
    var hasComparedAll: Bool { state.withLock { $0.expected.isEmpty } }

    /// - Parameter keepsPartOfBlock: more is to come at once, and the next batch may begin where a block of the file does.
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

    /// Removes what the batch has beyond the last whole block of the file, as a copy: a piece of a buffer would keep all of it.
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
