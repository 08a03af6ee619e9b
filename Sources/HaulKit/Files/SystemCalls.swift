// System calls of HaulKit on each platform: the calls on files and names. `SystemCalls+…` hold the others.
internal import CHaulSystem
internal import Foundation

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// One function for each system call. A negative result becomes the thrown errno.
package enum SystemCalls {
    package struct Errno: Error {
        package let code: Int32

        package init(code: Int32) { self.code = code }
    }

    /// Value of `folder` for a name that is an absolute path, or relative to the current folder of the process.
    static let workingFolder = AT_FDCWD

    static func open(_ name: String, in folder: Int32 = workingFolder, _ flags: Int32, mode: mode_t = 0o644)
        throws(Errno) -> Int32
    {
        try retrying { haul_open_at(folder, name, flags, UInt32(mode)) }
    }

    /// - Returns: `false` if the kernel reports that something was not written.
    @discardableResult
    package static func close(_ descriptor: Int32) -> Bool {
        #if canImport(Glibc)
            Glibc.close(descriptor) == 0
        #elseif canImport(Musl)
            Musl.close(descriptor) == 0
        #else
            Darwin.close(descriptor) == 0
        #endif
    }

    /// Writes as many of the bytes as the kernel takes, at the current position.
    static func write(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>) throws(Errno) -> Int {
        try retrying { bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) } }
    }

    /// Writes as many bytes of the vectors as the kernel takes. `bypassingCache` requests an uncached write, and
    /// becomes `false` if such writes are not supported.
    static func write(
        _ descriptor: Int32,
        _ vectors: UnsafeBufferPointer<iovec>,
        at offset: Int64,
        bypassingCache: inout Bool
    ) throws(Errno) -> Int {
        if bypassingCache {
            do {
                return Int(
                    try retrying { haul_write_uncached(descriptor, vectors.baseAddress, Int32(vectors.count), offset) }
                )
            } catch {
                guard unsupported.contains(error.code) else { throw error }
                bypassingCache = false
            }
        }
        return try retrying { pwritev(descriptor, vectors.baseAddress, Int32(vectors.count), off_t(offset)) }
    }

    static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
        try retrying { pwrite(descriptor, bytes.baseAddress, bytes.count, off_t(offset)) }
    }

    /// Opens an open file again with `O_DIRECT`, to write blocks past the page cache.
    ///
    /// - Throws: also if the file system may need larger blocks or a larger alignment than `blockSize`.
    static func openDirect(_ descriptor: Int32, blockSize: UInt32) throws(Errno) -> Int32 {
        try retrying { haul_open_direct(descriptor, blockSize) }
    }

    /// Whether an error says that the call cannot be made on this file at all.
    static func isUnsupported(_ error: Errno) -> Bool { unsupported.contains(error.code) }

    static func isOfSpace(_ error: Errno) -> Bool { [ENOSPC, EDQUOT, EFBIG].contains(error.code) }

    package static func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64)
        throws(Errno)
        -> Int
    {
        try retrying { pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) }
    }

    /// Copies the beginning of a range from one file to another in the kernel.
    ///
    /// - Returns: the number of bytes; 0 at the end of the source.
    static func copy(_ source: Int32, _ range: Range<Int64>, to descriptor: Int32, at offset: Int64) throws(Errno)
        -> Int64
    {
        try retrying { haul_copy(source, range.lowerBound, descriptor, offset, UInt64(range.count)) }
    }

    /// Whether an error says that the kernel does not copy between these two files.
    static func isUncopyable(_ error: Errno) -> Bool { isUnsupported(error) || [EXDEV, EPERM].contains(error.code) }

    package static func sync(_ descriptor: Int32) throws(Errno) {
        // Not retried on failure: after an error the kernel may have dropped the pages and would then report success.
        #if os(Linux)
            let result = fdatasync(descriptor)
        #else
            // Not tried on Darwin. Calls `fsync` if the file system, such as a network one, cannot flush the disk's own
            // cache.
            var result = fcntl(descriptor, F_FULLFSYNC)
            if result < 0, unsupported.contains(errno) || errno == ENOTTY { result = fsync(descriptor) }
        #endif
        if result < 0 { throw Errno(code: errno) }
    }

    /// Starts to write the cached bytes of a file. Reports no error.
    static func startWriting(_ descriptor: Int32) { haul_start_writing(descriptor) }

    /// Syncs the file system of an open file. Throws write errors of the file system since the file was opened.
    ///
    /// - Returns: `false` if the result is not reliable on this kernel or file system.
    static func syncFileSystem(_ descriptor: Int32) throws(Errno) -> Bool {
        if haul_sync_file_system(descriptor) == 0 { return true }
        guard unsupported.contains(errno) else { throw Errno(code: errno) }
        return false
    }

    /// Syncs all file systems. Waits on Linux; elsewhere the sync only begins. Reports no errors.
    static func syncEverything() { Foundation.sync() }

    package static func syncAll(_ descriptor: Int32) throws(Errno) {
        if fsync(descriptor) < 0 { throw Errno(code: errno) }
    }

    /// Allocates blocks without changing the length; does nothing if that is not supported.
    static func preallocate(_ descriptor: Int32, _ length: Int64) throws(Errno) {
        do {
            _ = try retrying { haul_preallocate(descriptor, length) }
        } catch {
            guard unsupported.contains(error.code) else { throw error }
        }
    }

    static func truncate(_ descriptor: Int32, _ length: Int64) throws(Errno) {
        _ = try retrying { ftruncate(descriptor, off_t(length)) }
    }

    static func setModificationTime(_ descriptor: Int32, _ nanoseconds: Int64) throws(Errno) {
        let billion: Int64 = 1_000_000_000
        let rest = nanoseconds % billion
        let time = timespec(
            tv_sec: Int(nanoseconds / billion) - (rest < 0 ? 1 : 0),
            tv_nsec: Int(rest < 0 ? rest + billion : rest)
        )
        let times = [time, time]
        _ = try retrying { futimens(descriptor, times) }
    }

    /// Renames a file, by names in two open folders. Throws `EEXIST` if `replacing` is `false` and the new name is
    /// taken. Where the system has no such call, links and unlinks, so that a crash may leave both names.
    static func rename(
        _ name: String,
        in folder: Int32 = workingFolder,
        to newName: String,
        in newFolder: Int32 = workingFolder,
        replacing: Bool
    ) throws(Errno) {
        if replacing {
            _ = try retrying { renameat(folder, name, newFolder, newName) }
            return
        }
        do {
            _ = try retrying { haul_rename_noreplace_at(folder, name, newFolder, newName) }
            return
        } catch {
            guard unsupported.contains(error.code) else { throw error }
        }
        // `link` never replaces a file either. On a file system without hard links, no safe call remains.
        _ = try retrying { linkat(folder, name, newFolder, newName, 0) }
        _ = try retrying { unlinkat(folder, name, 0) }
    }

    package static func remove(_ path: String) throws(Errno) { try removeFile(path, in: workingFolder) }

    static func makeFolder(_ name: String, in folder: Int32 = workingFolder, mode: mode_t) throws(Errno) {
        _ = try retrying { mkdirat(folder, name, mode) }
    }

    /// Opens the folder `name` in an open folder, for calls on names in it. Needs no permission to list the folder.
    ///
    /// - Parameter followsLink: if `false`, a symbolic link throws `ENOTDIR`.
    static func enter(_ name: String, in folder: Int32 = workingFolder, followsLink: Bool) throws(Errno) -> Int32 {
        try retrying { haul_enter(folder, name, followsLink ? 1 : 0) }
    }

    /// Opens the folder `name` in an open folder. Creates it first if `mode` is not `nil`. Never follows a symbolic
    /// link.
    static func openFolder(_ name: String, in folder: Int32, making mode: mode_t?) throws(Errno) -> Int32 {
        if let mode {
            do { _ = try retrying { mkdirat(folder, name, mode) } } catch {
                if error.code != EEXIST { throw error }
            }
        }
        return try retrying { haul_open_at(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0) }
    }

    package static func describe(errno code: Int32) -> String { String(cString: strerror(code)) }

    /// Error codes of a kernel or file system that does not support a call or a flag.
    private static let unsupported: Set = [EOPNOTSUPP, ENOTSUP, ENOSYS, EINVAL]

    static func retrying<Value: SignedInteger>(_ call: () -> Value) throws(Errno) -> Value {
        while true {
            let result = call()
            if result >= 0 { return result }
            let code = errno
            if code != EINTR { throw Errno(code: code) }
        }
    }
}
