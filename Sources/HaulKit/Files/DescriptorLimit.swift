internal import CHaulSystem
internal import Foundation
internal import NIOCore

/// Limit of open descriptors of this process, and how many are still free.
package enum DescriptorLimit {
    /// Soft limit at this moment; `Int.max` if unknown.
    package static var now: Int {
        var (soft, hard): (Int64, Int64) = (0, 0)
        return haul_descriptor_limits(&soft, &hard) == 0 ? Int(clamping: soft) : .max
    }

    /// Hard limit, up to which a program may raise its soft limit; `Int.max` if unknown.
    static var most: Int {
        var (soft, hard): (Int64, Int64) = (0, 0)
        return haul_descriptor_limits(&soft, &hard) == 0 ? Int(clamping: hard) : .max
    }

    /// Number of descriptors that the process may still open; an estimate if the limit exceeds 4096.
    package static var free: Int {
        let limit = now
        // Counting takes one system call for each possible descriptor. Above a limit of 4096, assumes 2048 open
        // descriptors instead, because such a process has enough free ones.
        let counted = min(limit, 4096)
        return counted == limit ? limit - Int(haul_open_descriptors(Int32(counted))) : limit - counted / 2
    }

    /// Whether no descriptor is free at this moment.
    static var isExhausted: Bool {
        do throws(SystemCalls.Errno) {
            SystemCalls.close(try SystemCalls.open("/dev/null", O_RDONLY))
            return false
        } catch { return DiskError.Kind(errno: error.code) == .tooManyOpenFiles }
    }

    /// Raises the soft limit as far as `downloads` downloads with `connections` connections each need, if the kernel
    /// allows it. Call this method from a program, not from a library, because the limit applies to the whole process.
    ///
    /// - Parameter others: descriptors that the rest of the program may have open at once.
    /// - Returns: the number of event loops for the process, which the caller sets before the first event loop exists.
    /// - Throws: ``DownloadError/Code/tooManyOpenFiles`` if not even one download can run.
    package static func prepare(downloads: Int, connections: Int, others: Int = 0) throws(DownloadError) -> Int {
        let wanted = DescriptorBudget.most(
            downloads: downloads,
            connections: connections,
            eventLoops: System.coreCount
        ).addingClamped(others)
        let (limit, free) = (now, free)
        let (raised, isTooMuch) = (limit - free).addingReportingOverflow(wanted)
        // Ignores a refusal of the kernel: `DescriptorBudget` then lets fewer downloads run at once.
        if free < wanted { _ = haul_raise_descriptor_limit(isTooMuch ? .max : Int64(raised)) }
        let loops = DescriptorBudget.eventLoops(cores: System.coreCount, free: Self.free)
        try check(eventLoops: loops)
        return loops
    }

    /// - Throws: ``DownloadError/Code/tooManyOpenFiles`` if not even one download can run.
    static func check(eventLoops: Int) throws(DownloadError) {
        let (free, least) = (free, DescriptorBudget.least(eventLoops: eventLoops))
        guard free < least else { return }
        throw DownloadError(
            .tooManyOpenFiles,
            "This process may open only \(max(0, free)) more files, and a download needs \(least). Raise the limit (ulimit -n)."
        )
    }
}
