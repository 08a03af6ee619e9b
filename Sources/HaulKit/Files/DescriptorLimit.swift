internal import CHaulSystem
internal import Foundation
internal import NIOCore

/// How many descriptors this process may have open at once, and how many it has.
package enum DescriptorLimit {
    /// The limit that holds now.
    package static var now: Int {
        var (soft, hard): (Int64, Int64) = (0, 0)
        return haul_descriptor_limits(&soft, &hard) == 0 ? Int(clamping: soft) : .max
    }

    /// How many more there may be.
    package static var free: Int {
        let limit = now
        // Counting them all takes as long as there may be many; who may have thousands lacks none.
        let counted = min(limit, 4096)
        return counted == limit ? limit - Int(haul_open_descriptors(Int32(counted))) : limit - counted / 2
    }

    /// Whether no file can be opened at this moment.
    static var isExhausted: Bool {
        do throws(SystemCalls.Errno) {
            SystemCalls.close(try SystemCalls.open("/dev/null", O_RDONLY))
            return false
        } catch { return DiskError.Kind(errno: error.code) == .tooManyOpenFiles }
    }

    /// Raises the limit so far that these downloads lack nothing, if the system allows it. For programs, not for libraries:
    /// the limit is the process's.
    ///
    /// - Parameter others: what the rest of the program may have open at once.
    /// - Returns: how many event loops the process should have, which is to be set before there are any.
    /// - Throws: ``DownloadError/Code/tooManyOpenFiles`` where not even one download can run.
    package static func prepare(downloads: Int, connections: Int, others: Int = 0) throws(DownloadError) -> Int {
        let wanted = DescriptorBudget.most(
            downloads: downloads,
            connections: connections,
            eventLoops: System.coreCount
        ).addingClamped(others)
        let (limit, free) = (now, free)
        let (raised, isTooMuch) = (limit - free).addingReportingOverflow(wanted)
        // Where it cannot be raised there are fewer at once.
        if free < wanted { _ = haul_raise_descriptor_limit(isTooMuch ? .max : Int64(raised)) }
        let loops = DescriptorBudget.eventLoops(cores: System.coreCount, free: Self.free)
        try check(eventLoops: loops)
        return loops
    }

    /// - Throws: ``DownloadError/Code/tooManyOpenFiles`` where not even one download can run.
    static func check(eventLoops: Int) throws(DownloadError) {
        let (free, least) = (free, DescriptorBudget.least(eventLoops: eventLoops))
        guard free < least else { return }
        throw DownloadError(
            .tooManyOpenFiles,
            "This process may open only \(max(0, free)) more files, and a download needs \(least). Raise the limit (ulimit -n)."
        )
    }
}
