import NIOCore
import Synchronization

@testable import HaulCore
@testable import HaulKit

/// A file in memory that can fail, and can wait before each write.
final class MemoryFile: DiskFile {
    let path = "/memory"
    private struct State {
        var bytes: [UInt8]
        var writesLeft: Int?
        var writes: [Range<Int64>] = []
    }
    private let state: Mutex<State>
    private let beforeWrite: @Sendable () -> Void

    init(_ bytes: [UInt8] = [], failingAfter writes: Int? = nil, beforeWrite: @escaping @Sendable () -> Void = {}) {
        state = Mutex(State(bytes: bytes, writesLeft: writes))
        self.beforeWrite = beforeWrite
    }

    var bytes: [UInt8] { state.withLock { $0.bytes } }
    /// The written ranges, in the order of the writes.
    var writes: [Range<Int64>] { state.withLock { $0.writes } }

    func write(_ buffers: [ByteBuffer], at offset: Int64) throws(DiskError) {
        beforeWrite()
        let isFull = state.withLock { state in
            if let left = state.writesLeft {
                if left == 0 { return true }
                state.writesLeft = left - 1
            }
            let new = buffers.flatMap { Array($0.readableBytesView) }
            let end = Int(offset) + new.count
            state.writes.append(offset..<Int64(end))
            if state.bytes.count < end { state.bytes += Array(repeating: 0, count: end - state.bytes.count) }
            state.bytes.replaceSubrange(Int(offset)..<end, with: new)
            return false
        }
        if isFull { throw DiskError(.full, call: "pwritev", path: path) }
    }

    func read(at offset: Int64, count: Int) throws(DiskError) -> [UInt8] {
        Array(bytes.dropFirst(Int(offset)).prefix(count))
    }

    func truncate(_ length: Int64) throws(DiskError) {
        state.withLock { $0.bytes = Array($0.bytes.prefix(Int(length))) }
    }

    func sync() throws(DiskError) {}
    func preallocate(_ length: Int64) throws(DiskError) {}
    func setModificationTime(_ nanoseconds: Int64) throws(DiskError) {}
    func lock() throws(DiskError) -> Bool { true }

    func status() throws(DiskError) -> FileStatus {
        FileStatus(kind: .file, size: Int64(bytes.count), allocated: 0, device: 1, inode: 1, modified: 0)
    }
}

/// Returns `count` pseudo-random bytes, the same for the same seed.
func someBytes(_ count: Int, seed: UInt64) -> [UInt8] {
    var random = SplitMix64(seed: seed)
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next() >> 24) }
}
