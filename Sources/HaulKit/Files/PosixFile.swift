internal import Foundation
internal import NIOCore
internal import Synchronization

/// An open file whose descriptor closes with the last reference to this object.
final class PosixFile: DiskFile {
    let path: String
    let descriptor: Int32
    private let bypassesCache: Atomic<Bool>
    /// Bytes before this offset stay in the page cache.
    private let keptLength = Atomic<Int64>(0)
    private enum Direct {
        case untried
        case found(DirectWriter)
        case impossible
    }
    private let direct = Mutex(Direct.untried)

    /// - Parameter hasUncachedWrites: whether to try uncached writes, which leave nothing in the page cache. Older
    ///   kernels do not support them.
    convenience init(_ path: String, flags: Int32, mode: mode_t = 0o644, hasUncachedWrites: Bool = true)
        throws(DiskError)
    {
        do {
            let descriptor = try SystemCalls.open(path, flags, mode: mode)
            self.init(path, descriptor: descriptor, hasUncachedWrites: hasUncachedWrites)
        } catch { throw DiskError(errno: error.code, call: "open", path: path) }
    }

    /// - Parameters:
    ///   - path: path for the messages of errors.
    ///   - descriptor: an open file. This object closes it.
    init(_ path: String, descriptor: Int32, hasUncachedWrites: Bool = true) {
        bypassesCache = Atomic(hasUncachedWrites)
        self.descriptor = descriptor
        self.path = path
    }

    /// Opens a regular file for reading only. Follows a symbolic link.
    static func reading(_ path: String) throws(DiskError) -> PosixFile {
        try PosixFile(path, flags: readingFlags).onlyIfRegular()
    }

    /// `O_NONBLOCK`, because the open of a pipe would wait for a writer.
    static let readingFlags = O_RDONLY | O_NONBLOCK

    func onlyIfRegular() throws(DiskError) -> PosixFile {
        guard try status().kind == .file else { throw DiskError(.notAFile, call: "read", path: path) }
        return self
    }

    deinit { SystemCalls.close(descriptor) }

    func write(_ buffers: [ByteBuffer], at offset: Int64) throws(DiskError) {
        let result = IOVectors.withMemory(of: buffers) { vectors in
            Result { () throws(SystemCalls.Errno) in try write(&vectors, at: offset) }
        }
        do {
            try result.get()
        } catch { throw DiskError(errno: error.code, call: "pwritev", path: path) }
    }

    /// Writes large buffers so that they do not stay in the page cache. If the kernel has no uncached write, writes
    /// whole blocks past the cache.
    private func write(_ vectors: inout IOVectors, at start: Int64) throws(SystemCalls.Errno) {
        // A small uncached write would go to the disk at once. The page cache can wait until there is more to write.
        let isKept =
            vectors.count < Self.leastUncached
            || start + Int64(vectors.count) <= keptLength.load(ordering: .relaxed)
        guard !isKept, vectors.count >= Self.leastDirect, !bypassesCache.load(ordering: .relaxed),
            let direct = directWriter()
        else { return try writeThroughCache(&vectors, vectors.count, at: start, keeping: isKept) }
        var offset = start
        let head = Int(-start & (DirectWriter.blockSize - 1))
        try writeThroughCache(&vectors, head, at: offset, keeping: true)
        offset += Int64(head)
        offset += Int64(try direct.write(&vectors, at: offset))
        try writeThroughCache(&vectors, vectors.count, at: offset, keeping: vectors.count < Self.leastUncached)
    }

    /// Keeps the first bytes of the file in the page cache, up to a quarter of the machine's memory.
    func willBeReadAgain() {
        keptLength.store(Int64(clamping: ProcessInfo.processInfo.physicalMemory / 4), ordering: .relaxed)
    }

    private static let leastUncached = 128 << 10
    private static let leastDirect = 256 << 10

    private func directWriter() -> DirectWriter? {
        direct.withLock { direct in
            if case .untried = direct { direct = DirectWriter(beside: descriptor).map { .found($0) } ?? .impossible }
            if case .found(let writer) = direct { return writer }
            return nil
        }
    }

    private func writeThroughCache(_ vectors: inout IOVectors, _ count: Int, at start: Int64, keeping isKept: Bool)
        throws(SystemCalls.Errno)
    {
        var offset = start
        let end = start + Int64(count)
        while offset < end {
            var bypass = !isKept && bypassesCache.load(ordering: .relaxed)
            let before = bypass
            let written = try vectors.withFirst(Int(end - offset)) { vectors throws(SystemCalls.Errno) in
                try SystemCalls.write(descriptor, vectors, at: offset, bypassingCache: &bypass)
            }
            if before != bypass { bypassesCache.store(bypass, ordering: .relaxed) }
            offset += Int64(written)
            vectors.removeFirst(written)
        }
    }

    func read(at offset: Int64, count: Int) throws(DiskError) -> [UInt8] {
        var failure: SystemCalls.Errno?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = 0
            do throws(SystemCalls.Errno) {
                while filled < count {
                    let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
                    let got = try SystemCalls.read(descriptor, into: rest, at: offset + Int64(filled))
                    if got == 0 { break }
                    filled += got
                }
            } catch { failure = error }
        }
        if let failure { throw DiskError(errno: failure.code, call: "pread", path: path) }
        return bytes
    }

    /// Copies in the kernel, without bytes in this process. Copies by blocks where the kernel cannot.
    func copy(_ range: Range<Int64>, of source: any DiskFile, to offset: Int64) throws(DiskError) {
        var (range, offset) = (range, offset)
        if let source = source as? PosixFile {
            do throws(SystemCalls.Errno) {
                while !range.isEmpty {
                    let copied = try SystemCalls.copy(source.descriptor, range, to: descriptor, at: offset)
                    guard copied > 0 else { break }
                    range = range.lowerBound + copied..<range.upperBound
                    offset += copied
                }
            } catch {
                guard SystemCalls.isUncopyable(error) else {
                    throw DiskError(errno: error.code, call: "copy_file_range", path: path)
                }
            }
        }
        // Copies the rest by blocks. If a call fails again, its error names the file that failed.
        try copyBlocks(range, of: source, to: offset)
    }

    func sync() throws(DiskError) {
        try call("fdatasync") { () throws(SystemCalls.Errno) in try SystemCalls.sync(descriptor) }
    }

    func preallocate(_ length: Int64) throws(DiskError) {
        try call("fallocate") { () throws(SystemCalls.Errno) in try SystemCalls.preallocate(descriptor, length) }
    }

    func truncate(_ length: Int64) throws(DiskError) {
        try call("ftruncate") { () throws(SystemCalls.Errno) in try SystemCalls.truncate(descriptor, length) }
    }

    func setModificationTime(_ nanoseconds: Int64) throws(DiskError) {
        try call("futimens") { () throws(SystemCalls.Errno) in
            try SystemCalls.setModificationTime(descriptor, nanoseconds)
        }
    }

    func status() throws(DiskError) -> FileStatus {
        try call("fstat") { () throws(SystemCalls.Errno) in try SystemCalls.status(descriptor) }
    }

    func size() throws(DiskError) -> Int64 {
        try call("fstat") { () throws(SystemCalls.Errno) in try SystemCalls.size(descriptor) }
    }

    func lock() throws(DiskError) -> Bool {
        try call("flock") { () throws(SystemCalls.Errno) in try SystemCalls.lock(descriptor) }
    }

    func unlock() { SystemCalls.unlock(descriptor) }

    /// Takes the shared lock. Returns `false` if somebody has the exclusive lock.
    func lockShared() throws(DiskError) -> Bool {
        try call("flock") { () throws(SystemCalls.Errno) in try SystemCalls.lock(descriptor, shared: true) }
    }

    private func call<Value>(_ name: String, _ body: () throws(SystemCalls.Errno) -> Value) throws(DiskError) -> Value {
        do {
            return try body()
        } catch { throw DiskError(errno: error.code, call: name, path: path) }
    }
}
