internal import NIOCore
internal import Synchronization

/// Small file whose bytes gather in memory. The file is created on the disk when it is complete, together with others,
/// or earlier by its own download (``move(into:)``).
///
/// A file in memory cannot be synced, so the store claims none of its bytes.
final class BufferedFile: DiskFile {
    /// Path of the file on the disk, or the planned path.
    var path: String { state.withLock { $0.file?.path ?? planned } }
    private let planned: String
    private struct State {
        var bytes: ByteBuffer
        /// The file on the disk, once there is one.
        var file: (any DiskFile)?
    }
    private let state: Mutex<State>

    /// Length limit in bytes of a file that gathers in memory.
    static let mostBytes: Int64 = 256 << 10

    /// Whether a file of this length may gather in memory.
    static func isFor(_ length: Int64?) -> Bool { length.map { $0 <= mostBytes } ?? false }

    init(_ path: String, capacity: Int) {
        planned = path
        state = Mutex(State(bytes: ByteBufferAllocator().buffer(capacity: capacity)))
    }

    /// `false` once the file is on the disk.
    var isInMemory: Bool { state.withLock { $0.file == nil } }

    /// The buffered bytes; `nil` once the file is on the disk.
    var bytes: ByteBuffer? { state.withLock { $0.file == nil ? $0.bytes : nil } }

    /// Writes the gathered bytes into `file`. Later writes go into `file` too.
    func move(into file: any DiskFile) throws(DiskError) {
        try state.withLock { state throws(DiskError) in
            guard state.file == nil else { return }
            if state.bytes.readableBytes > 0 { try file.write([state.bytes], at: 0) }
            state.file = file
            state.bytes = ByteBuffer()
        }
    }

    // MARK: DiskFile

    func write(_ buffers: [ByteBuffer], at offset: Int64) throws(DiskError) {
        let file = try state.withLock { state throws(DiskError) -> (any DiskFile)? in
            guard state.file == nil else { return state.file }
            let length = buffers.reduce(0) { $0 + Int64($1.readableBytes) }
            let (end, isTooFar) = offset.addingReportingOverflow(length)
            guard offset >= 0, !isTooFar, end <= Self.mostBytes else {
                throw DiskError(.fileTooLarge, call: "write", path: planned)
            }
            var index = Int(offset)
            for buffer in buffers { index += state.bytes.setBuffer(buffer, at: index) }
            if state.bytes.writerIndex < index { state.bytes.moveWriterIndex(to: index) }
            return nil
        }
        try file?.write(buffers, at: offset)
    }

    func read(at offset: Int64, count: Int) throws(DiskError) -> [UInt8] {
        let (file, bytes) = state.withLock { state -> ((any DiskFile)?, [UInt8]) in
            let start = Int(clamping: min(max(0, offset), Int64(state.bytes.writerIndex)))
            let length = min(count, state.bytes.writerIndex - start)
            return (state.file, state.bytes.getBytes(at: start, length: length) ?? [])
        }
        return try file?.read(at: offset, count: count) ?? bytes
    }

    func sync() throws(DiskError) {
        guard let file = onDisk else { throw DiskError(.other, call: "sync", path: path) }
        try file.sync()
    }

    func preallocate(_ length: Int64) throws(DiskError) { try onDisk?.preallocate(length) }

    func truncate(_ length: Int64) throws(DiskError) {
        let file = state.withLock { state in
            let length = Int(clamping: length)
            if length < state.bytes.writerIndex { state.bytes.moveWriterIndex(to: length) }
            return state.file
        }
        try file?.truncate(length)
    }

    func setModificationTime(_ nanoseconds: Int64) throws(DiskError) {
        try onDisk?.setModificationTime(nanoseconds)
    }

    func status() throws(DiskError) -> FileStatus {
        if let file = onDisk { return try file.status() }
        let size = Int64(state.withLock { $0.bytes.writerIndex })
        return FileStatus(kind: .file, size: size, allocated: 0, device: 0, inode: 0, modified: 0)
    }

    func size() throws(DiskError) -> Int64 {
        if let file = onDisk { return try file.size() }
        return Int64(state.withLock { $0.bytes.writerIndex })
    }

    func lock() throws(DiskError) -> Bool { try onDisk?.lock() ?? true }
    func unlock() { onDisk?.unlock() }
    func willBeReadAgain() { onDisk?.willBeReadAgain() }

    private var onDisk: (any DiskFile)? { state.withLock(\.file) }
}
