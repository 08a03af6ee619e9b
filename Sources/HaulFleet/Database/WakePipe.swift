internal import Foundation

/// A pipe that interrupts another thread's `poll`. ``wake()`` writes one byte; the woken thread empties the pipe with
/// ``drain()``.
final class WakePipe: Sendable {
    let readEnd: Int32
    private let writeEnd: Int32

    /// - Throws: ``FleetError/Code/databaseUnreachable`` if the process has no descriptors left.
    init() throws(FleetError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw FleetError(.databaseUnreachable, "No pipe could be opened: \(String(cString: strerror(errno))).")
        }
        (readEnd, writeEnd) = (ends[0], ends[1])
        for end in ends {
            // These calls do not fail for an open pipe.
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    func wake() {
        // A failed write to a full pipe is harmless: the bytes in the pipe wake the thread.
        _ = withUnsafeBytes(of: UInt8(1)) { write(writeEnd, $0.baseAddress, 1) }
    }

    func drain() {
        withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
            while read(readEnd, buffer.baseAddress, buffer.count) > 0 {}
        }
    }
}
