/// Reads a stream log from a file, in windows.
struct StreamLogReader {
    typealias Read = (_ offset: Int64, _ count: Int) throws(DiskError) -> [UInt8]

    /// The log up to its last whole record, and the completion of the record behind it.
    struct Result: Sendable {
        var log: StreamLog
        var completion: Completion
    }

    /// Bytes that complete a record which a crash cut off. Empty if the last record is whole.
    struct Completion: Sendable, Equatable {
        /// The missing bytes of the record's head.
        var head: [UInt8] = []
        /// Number of zero bytes behind the head, in place of the missing payload.
        var zeros: Int64 = 0
    }

    private static let window = 64 << 10
    /// Longest payload that is read, so that a broken log cannot take all memory.
    private static let mostPayload = 32 << 20

    /// Reads the first `length` bytes of a log.
    ///
    /// - Returns: `nil` if they are no log.
    static func read(_ length: Int64, of part: PartFile) async throws(DiskError) -> Result? {
        try await part.onWriteThread { () throws(DiskError) in
            try read(length) { (offset, count) throws(DiskError) in try part.file.read(at: offset, count: count) }
        }
    }

    /// Reads the first `length` bytes of a log in windows.
    ///
    /// - Returns: `nil` if they are no log.
    static func read(_ length: Int64, with read: Read) throws(DiskError) -> Result? {
        var log = StreamLog()
        var (window, start) = ([UInt8](), Int64(0))
        // Number of bytes to read ahead. After a record that is longer than a window, only the next head is read,
        // because another such record usually follows.
        var reach = Int64(Self.window)
        func bytes(at offset: Int64, _ count: Int) throws(DiskError) -> ArraySlice<UInt8> {
            if offset < start || offset + Int64(count) > start + Int64(window.count) {
                start = offset
                window = try read(offset, max(count, Int(clamping: min(reach, length - offset))))
            }
            let first = min(Int(offset - start), window.count)
            return window[first..<min(first + count, window.count)]
        }
        while log.end < length {
            let left = length - log.end
            guard left >= StreamRecord.headLength else {
                let front = try bytes(at: log.end, Int(left))
                return completed(log, head: Array(front))
            }
            guard let record = StreamRecord(head: try bytes(at: log.end, StreamRecord.headLength)) else {
                return nil
            }
            let missing = Int64(StreamRecord.headLength) + Int64(record.length) - left
            if missing > 0 {
                log.skipAttempt(of: record)
                return log.film == nil ? nil : Result(log: log, completion: .init(zeros: missing))
            }
            reach = Int64(record.length) > Int64(Self.window) ? Int64(StreamRecord.headLength) : Int64(Self.window)
            var payload: [UInt8]?
            if record.kind.isChecked {
                guard record.length <= mostPayload else { return nil }
                payload = Array(try bytes(at: log.end + Int64(StreamRecord.headLength), Int(record.length)))
            }
            guard log.take(record, payload) else { return nil }
        }
        return log.film == nil ? nil : Result(log: log, completion: .init())
    }

    private static func completed(_ log: StreamLog, head front: [UInt8]) -> Result? {
        guard log.film != nil else { return nil }
        let rest = StreamRecord.completing(front)
        guard let record = StreamRecord(head: (front + rest)[...]) else { return nil }
        var log = log
        log.skipAttempt(of: record)
        return Result(log: log, completion: .init(head: rest, zeros: Int64(record.length)))
    }
}
