internal import NIOCore

/// State of a sink: its body, its batch and its writes. ``SegmentSink`` guards the state with a lock.
extension SegmentSink {
    /// Part of the response's body that is wanted.
    struct Body {
        /// Bytes of the overlap on the disk that have not been compared yet.
        var expected: ArraySlice<UInt8>
        /// Number of bytes that another connection fetches and that are still to come, and those that have come.
        var repeated: (missing: Int, bytes: [UInt8])
        /// Number of bytes still wanted; `nil` if the end is unknown.
        var wanted: Int64?
        /// Whether more bytes came than were wanted.
        var hadEnough = false

        /// Removes the front of the body and compares it with the overlap on the disk. Returns `false` if they differ.
        mutating func compare(_ bytes: inout ByteBuffer) -> Bool {
            guard !expected.isEmpty,
                let again = bytes.readBytes(length: min(bytes.readableBytes, expected.count))
            else { return true }
            guard expected.starts(with: again) else { return false }
            expected = expected.dropFirst(again.count)
            return true
        }

        /// Removes the bytes from the front of the body that another connection fetches.
        ///
        /// - Returns: all of them, when the last has come.
        mutating func takeRepeated(_ bytes: inout ByteBuffer) -> [UInt8]? {
            guard repeated.missing > 0,
                let again = bytes.readBytes(length: min(bytes.readableBytes, repeated.missing))
            else { return nil }
            repeated.bytes += again
            repeated.missing -= again.count
            return repeated.missing == 0 ? repeated.bytes : nil
        }

        /// Counts the wanted bytes and cuts off the others. Returns `true` if more bytes came than were wanted.
        mutating func cut(_ bytes: inout ByteBuffer) -> Bool {
            guard let present = wanted else { return false }
            let isEnough = bytes.readableBytes > present
            if isEnough {
                bytes = bytes.getSlice(at: bytes.readerIndex, length: Int(present)) ?? bytes
                hadEnough = true
            }
            wanted = present - Int64(bytes.readableBytes)
            return isEnough
        }
    }

    /// Bytes behind the batch that the speed limit has not admitted yet.
    struct Held {
        var bytes = ByteBuffer()
        var turn: RateLimiter.Turn?
        /// Whether a timer will ask the speed limit again.
        var asksAgain = false
        /// Whether the body has ended and the bytes still wait for the speed limit.
        var delaysEnd = false

        var isEmpty: Bool { bytes.readableBytes == 0 }

        /// Appends bytes. Several reads may arrive before the connection stops reading.
        mutating func append(_ more: ByteBuffer) {
            if isEmpty {
                bytes = more
            } else {
                bytes.writeImmutableBuffer(more)
            }
        }

        /// Drops the bytes, which then delay nothing.
        mutating func drop() {
            bytes = ByteBuffer()
            delaysEnd = false
        }
    }

    /// The batches that were handed to the write thread, and the outcome of their writes.
    struct Writes {
        /// Offset of each batch that is not written.
        var offsets: [Int64] = []
        /// The first failure.
        var failure: WriteFailure?
        /// Whether the sink is shut: it hands nothing more to the write thread, because the file may soon hold another
        /// version.
        var isShut = false

        var isDiskBehind: Bool { offsets.count >= SegmentSink.mostOutstanding }

        /// Notes the result of a step on a file in memory. Returns `false` if the file is on the disk.
        mutating func take(_ result: Result<Void, WriteFailure>?) -> Bool {
            if case .failure(let failure)? = result { self.failure = self.failure ?? failure }
            return result != nil
        }
    }

    /// State of the flush: a timer after which a batch is written, however small it is.
    struct Flush {
        /// Whether a timer is set.
        var isDue = false
        /// Whether a flush found too many writes under way. In that case the batch is written when the next of them
        /// ends.
        var isOwed = false
    }

    /// Calls to others that a method makes after it has released the lock.
    struct Notices {
        /// Lets the connection read again.
        var waiter: EventLoopPromise<Void>?
        /// Reports the end of all writes.
        var drained: (@Sendable (WriteFailure?) -> Void)?
        var failure: WriteFailure?
        /// Promises of ``SegmentSink/written(on:)`` whose bytes are written, or never will be.
        var written: [EventLoopPromise<Void>] = []

        func send() {
            for promise in written { promise.succeed(()) }
            waiter?.succeed(())
            drained?(failure)
        }
    }

    struct State {
        var body: Body
        var batch: WriteBatch
        var held = Held()
        var writes = Writes()
        var flush = Flush()
        /// Promise that holds the connection back; `nil` while the connection may read.
        var waiter: EventLoopPromise<Void>?
        /// Promises that complete when all bytes in front of an offset are written, or will never be.
        var written: [(offset: Int64, promise: EventLoopPromise<Void>)] = []
        /// Reports the end of all writes. Set when the body has ended.
        var onDrained: (@Sendable (WriteFailure?) -> Void)?

        /// Moves all held bytes into the batch.
        mutating func passOnAll() {
            batch.append(held.bytes)
            held.bytes = ByteBuffer()
            held.turn = nil
        }

        /// Offset in front of which all bytes are written; `.max` if no further byte will be written.
        private var writtenTo: Int64 {
            writes.failure != nil || writes.isShut ? .max : writes.offsets.min() ?? batch.offset
        }

        /// Removes and returns the promises of bytes that are written, or that never will be.
        private mutating func takeWritten() -> [EventLoopPromise<Void>] {
            guard !written.isEmpty else { return [] }
            let writtenTo = writtenTo
            let due = written.filter { $0.offset <= writtenTo }.map(\.promise)
            written.removeAll { $0.offset <= writtenTo }
            return due
        }

        /// Returns the notices that are due.
        ///
        /// - Parameters:
        ///   - releasesWaiter: whether the connection may read again.
        ///   - reportsEnd: whether the end may be reported. It is reported only when no write is under way and no held
        ///     bytes wait for the speed limit.
        mutating func takeNotices(releasesWaiter: Bool = true, reportsEnd: Bool = true) -> Notices {
            var notices = Notices(failure: writes.failure, written: takeWritten())
            if releasesWaiter { swap(&notices.waiter, &waiter) }
            if reportsEnd, writes.offsets.isEmpty, !held.delaysEnd { swap(&notices.drained, &onDrained) }
            return notices
        }
    }
}
