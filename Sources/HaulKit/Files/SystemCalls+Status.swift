// Properties of files and volumes.
internal import CHaulSystem
internal import Foundation

extension SystemCalls {
    static func status(_ name: String, in folder: Int32 = workingFolder) throws(Errno) -> FileStatus {
        var (raw, born) = (stat(), Int64(0))
        _ = try retrying { haul_status(folder, name, &raw, &born) }
        return FileStatus(raw, born: born)
    }

    /// Whether the kernel lets this process write a file.
    static func isWritable(_ path: String) -> Bool { access(path, W_OK) == 0 }

    /// Returns the present mark of a store's file, for the comparison with an earlier mark.
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

    /// Returns the permission bits of the file at a path. Follows a symbolic link.
    static func permissions(_ path: String) throws(Errno) -> mode_t {
        var raw = stat()
        _ = try retrying { stat(path, &raw) }
        return raw.st_mode & 0o7777
    }

    static func setPermissions(_ name: String, in folder: Int32 = workingFolder, _ mode: mode_t) throws(Errno) {
        _ = try retrying { fchmodat(folder, name, mode, 0) }
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
