internal import Foundation

/// A pipe that ends another thread's `poll`: a byte is written to wake it, and the woken thread reads what is there.
final class WakePipe: Sendable {
    let readEnd: Int32
    private let writeEnd: Int32

    /// - Throws: ``FleetError/Code/databaseUnreachable`` where the process has no descriptors left.
    init() throws(FleetError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw FleetError(.databaseUnreachable, "No pipe could be opened: \(String(cString: strerror(errno))).")
        }
        (readEnd, writeEnd) = (ends[0], ends[1])
        for end in ends {
            // Neither fails for an open pipe.
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    func wake() {
        // A full pipe wakes as well.
        _ = withUnsafeBytes(of: UInt8(1)) { write(writeEnd, $0.baseAddress, 1) }
    }

    func drain() {
        withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
            while read(readEnd, buffer.baseAddress, buffer.count) > 0 {}
        }
    }
}
