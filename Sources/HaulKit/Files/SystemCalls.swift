// System calls of HaulKit on each platform.
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

    static func open(_ path: String, _ flags: Int32, mode: mode_t = 0o644) throws(Errno) -> Int32 {
        try retrying { haul_open(path, flags, UInt32(mode)) }
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

    package static func sync(_ descriptor: Int32) throws(Errno) {
        // Not retried on failure: after an error the kernel may have dropped the pages and would then report success.
        #if os(Linux)
            let result = fdatasync(descriptor)
        #else
            // Not tried on Darwin. File systems that cannot flush the disk's own cache report that, above all network
            // ones.
            var result = fcntl(descriptor, F_FULLFSYNC)
            if result < 0, unsupported.contains(errno) || errno == ENOTTY { result = fsync(descriptor) }
        #endif
        if result < 0 { throw Errno(code: errno) }
    }

    /// Whether any process has a file open for writing; `nil` if the system does not report it.
    ///
    /// - Parameter descriptor: descriptor that is open only for reading.
    static func isOpenForWriting(_ descriptor: Int32) -> Bool? {
        switch haul_is_open_for_writing(descriptor) {
        case 0: false
        case 1: true
        default: nil
        }
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

    /// Reserves blocks; does nothing if that is not supported.
    static func reserve(_ descriptor: Int32, _ length: Int64) throws(Errno) {
        do {
            _ = try retrying { haul_reserve(descriptor, length) }
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

    static func rename(_ path: String, to target: String, replacing: Bool) throws(Errno) {
        if replacing {
            _ = try retrying { Foundation.rename(path, target) }
            return
        }
        do {
            _ = try retrying { haul_rename_noreplace(path, target) }
            return
        } catch {
            guard unsupported.contains(error.code) else { throw error }
        }
        // `link` never replaces a file either. On a file system without hard links, no safe call remains.
        _ = try retrying { link(path, target) }
        _ = try retrying { unlink(path) }
    }

    package static func remove(_ path: String) throws(Errno) {
        _ = try retrying { unlink(path) }
    }

    static func makeFolder(_ path: String, mode: mode_t) throws(Errno) {
        _ = try retrying { mkdir(path, mode) }
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

    /// Returns the permission bits of the file at a path. Follows a symbolic link.
    static func permissions(_ path: String) throws(Errno) -> mode_t {
        var raw = stat()
        _ = try retrying { stat(path, &raw) }
        return raw.st_mode & 0o7777
    }

    static func setPermissions(_ path: String, _ mode: mode_t) throws(Errno) {
        _ = try retrying { chmod(path, mode) }
    }

    static func lock(_ descriptor: Int32, shared: Bool = false) throws(Errno) -> Bool {
        do {
            _ = try retrying { shared ? haul_lock_shared(descriptor) : haul_lock_exclusive(descriptor) }
            return true
        } catch {
            guard error.code == EWOULDBLOCK else { throw error }
            return false
        }
    }

    static func unlock(_ descriptor: Int32) { _ = haul_unlock(descriptor) }

    /// Locks one byte while the file stays open. Returns `false` if another open file has locked it.
    static func lock(_ descriptor: Int32, byte: Int64) throws(Errno) -> Bool {
        do {
            _ = try retrying { haul_lock_byte(descriptor, byte) }
            return true
        } catch {
            guard error.code == EAGAIN || error.code == EACCES else { throw error }
            return false
        }
    }

    static func unlock(_ descriptor: Int32, byte: Int64) { _ = haul_unlock_byte(descriptor, byte) }

    /// Whether another open file has a byte locked.
    static func isLocked(_ descriptor: Int32, byte: Int64) throws(Errno) -> Bool {
        try retrying { haul_is_byte_locked(descriptor, byte) } == 1
    }

    /// Whether another open file has any byte locked.
    static func isAnyByteLocked(_ descriptor: Int32) throws(Errno) -> Bool {
        try retrying { haul_is_any_byte_locked(descriptor) } == 1
    }

    static func status(_ path: String) throws(Errno) -> FileStatus {
        var (raw, born) = (stat(), Int64(0))
        _ = try retrying { haul_status(-1, path, &raw, &born) }
        return FileStatus(raw, born: born)
    }

    /// Whether the kernel lets this process write a file.
    static func isWritable(_ path: String) -> Bool { access(path, W_OK) == 0 }

    /// Returns the mark of a file that was just checked.
    static func mark(_ path: String, bootID: String) throws(Errno) -> StoreMark {
        var raw = stat()
        _ = try retrying { stat(path, &raw) }
        #if canImport(Darwin)
            let (modified, changed) = (raw.st_mtimespec, raw.st_ctimespec)
        #else
            let (modified, changed) = (raw.st_mtim, raw.st_ctim)
        #endif
        return StoreMark(
            inode: UInt64(raw.st_ino),
            size: Int64(raw.st_size),
            modified: FileStatus.nanoseconds(Int64(modified.tv_sec), Int64(modified.tv_nsec)),
            changed: FileStatus.nanoseconds(Int64(changed.tv_sec), Int64(changed.tv_nsec)),
            bootID: bootID
        )
    }

    /// Returns the number of the file system that an open file is on.
    static func device(_ descriptor: Int32) throws(Errno) -> UInt64 {
        var raw = stat()
        _ = try retrying { fstat(descriptor, &raw) }
        return UInt64(truncatingIfNeeded: raw.st_dev)
    }

    static func size(_ descriptor: Int32) throws(Errno) -> Int64 {
        var raw = stat()
        _ = try retrying { fstat(descriptor, &raw) }
        return Int64(raw.st_size)
    }

    static func status(_ descriptor: Int32) throws(Errno) -> FileStatus {
        var (raw, born) = (stat(), Int64(0))
        _ = try retrying { haul_status(descriptor, nil, &raw, &born) }
        return FileStatus(raw, born: born)
    }

    static func freeSpace(_ path: String) throws(Errno) -> VolumeSpace? {
        var raw = statvfs()
        _ = try retrying { statvfs(path, &raw) }
        var place = stat()
        _ = try retrying { stat(path, &place) }
        // Some network and overlay file systems report nothing at all.
        guard raw.f_blocks > 0 else { return nil }
        let size = UInt64(raw.f_frsize)
        let (free, isTooMuchFree) = UInt64(raw.f_bavail).multipliedReportingOverflow(by: size)
        let (total, isTooMuch) = UInt64(raw.f_blocks).multipliedReportingOverflow(by: size)
        return VolumeSpace(
            free: isTooMuchFree ? .max : Int64(clamping: free),
            total: isTooMuch ? .max : Int64(clamping: total),
            volume: UInt64(truncatingIfNeeded: place.st_dev)
        )
    }

    /// Returns an id that changes with each boot of the machine. Empty if the platform has none, which counts as
    /// changed.
    static func bootID() -> String {
        #if os(Linux)
            // No error to report: without this file every start is treated as one after a power loss.
            let text = (try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)) ?? ""
            return text.trimmingCharacters(in: .whitespacesAndNewlines)
        #elseif canImport(Darwin)
            // Not tried on Darwin.
            var size = 0
            guard sysctlbyname("kern.bootsessionuuid", nil, &size, nil, 0) == 0, size > 1 else { return "" }
            var bytes = [UInt8](repeating: 0, count: size)
            guard sysctlbyname("kern.bootsessionuuid", &bytes, &size, nil, 0) == 0 else { return "" }
            return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        #else
            return ""
        #endif
    }

    /// Returns the path of the current folder as bytes; empty if it has none.
    static func currentFolder() -> [UInt8] {
        guard let path = getcwd(nil, 0) else { return [] }
        defer { free(path) }
        return Array(UnsafeRawBufferPointer(start: path, count: strlen(path)))
    }

    /// Checks that the monotonic clock is not negative, which only happens under a library that moves clocks.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/internalFault``.
    static func checkClock() throws(DownloadError) {
        var time = timespec()
        guard clock_gettime(CLOCK_MONOTONIC, &time) == 0, time.tv_sec < 0 else { return }
        throw DownloadError(
            .internalFault,
            "The clock that measures time-outs stands below zero: a library that is loaded before others (LD_PRELOAD), such as libfaketime, moves it. Let it leave the monotonic clock alone (FAKETIME_DONT_FAKE_MONOTONIC=1)."
        )
    }

    /// Whether a process with this number exists, of this user or another.
    static func isRunning(process: Int32) -> Bool { kill(process, 0) == 0 || errno == EPERM }

    // MARK: Network

    /// Tests whether a socket can have this local address. Throws the reason if it cannot.
    static func tryAddress(_ address: IPAddress) throws(Errno) {
        _ = try retrying { haul_try_address(address.bytes, Int32(address.bytes.count)) }
    }

    /// Returns the interfaces of this machine with their addresses. The address is `nil` for an entry without an IP
    /// address.
    static func localAddresses() throws(Errno) -> [LocalAddress] {
        var first: UnsafeMutablePointer<ifaddrs>?
        _ = try retrying { getifaddrs(&first) }
        defer { freeifaddrs(first) }
        var found: [LocalAddress] = []
        var next = first
        while let entry = next?.pointee {
            let bytes: [UInt8]? = entry.ifa_addr.flatMap { address in
                switch Int32(address.pointee.sa_family) {
                case AF_INET:
                    address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                        withUnsafeBytes(of: $0.pointee.sin_addr) { Array($0) }
                    }
                case AF_INET6:
                    address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                        withUnsafeBytes(of: $0.pointee.sin6_addr) { Array($0) }
                    }
                default: nil
                }
            }
            found.append(
                LocalAddress(interface: String(cString: entry.ifa_name), address: bytes.flatMap(IPAddress.init(bytes:)))
            )
            next = entry.ifa_next
        }
        return found
    }

    /// Opens a socket that receives changes of links, addresses and routes. Throws `ENOSYS` if the system is not Linux.
    static func openNetlink() throws(Errno) -> Int32 { try retrying { haul_netlink_open() } }

    static func requestDump(_ descriptor: Int32, _ kind: LinkTable.Dump, sequence: UInt32) throws(Errno) {
        _ = try retrying { haul_netlink_dump(descriptor, Int32(kind.rawValue), sequence) }
    }

    /// - Returns: the number of received bytes; `nil` if there is nothing to read.
    /// - Throws: `ENOBUFS` if messages were lost.
    static func receive(_ descriptor: Int32, into buffer: inout [UInt8]) throws(Errno) -> Int? {
        do {
            return Int(
                try retrying {
                    buffer.withUnsafeMutableBytes {
                        haul_netlink_receive(descriptor, $0.baseAddress, UInt64($0.count))
                    }
                }
            )
        } catch {
            guard error.code == EAGAIN else { throw error }
            return nil
        }
    }

    /// Whether messages were lost between the kernel and this process.
    static func isOverrun(_ error: Errno) -> Bool { error.code == ENOBUFS }

    package static func describe(errno code: Int32) -> String { String(cString: strerror(code)) }

    /// Error codes of a kernel or file system that does not have a call or a flag.
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

extension FileStatus {
    /// Returns nanoseconds since 1970, clamped, because a file's date may not fit into 64 bits.
    fileprivate static func nanoseconds(_ seconds: Int64, _ rest: Int64) -> Int64 {
        let (product, isTooLarge) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !isTooLarge else { return seconds < 0 ? .min : .max }
        let (sum, overflows) = product.addingReportingOverflow(rest)
        return overflows ? .max : sum
    }

    fileprivate init(_ raw: stat, born: Int64) {
        let kind: Kind =
            switch raw.st_mode & S_IFMT {
            case S_IFREG: .file
            case S_IFDIR: .folder
            case S_IFLNK: .symbolicLink
            default: .other
            }
        #if canImport(Darwin)
            let time = raw.st_mtimespec
        #else
            let time = raw.st_mtim
        #endif
        self.init(
            kind: kind,
            size: Int64(raw.st_size),
            allocated: Int64(raw.st_blocks) * 512,
            device: UInt64(truncatingIfNeeded: raw.st_dev),
            inode: UInt64(raw.st_ino),
            born: born,
            modified: Self.nanoseconds(Int64(time.tv_sec), Int64(time.tv_nsec)),
            links: UInt64(raw.st_nlink)
        )
    }
}
