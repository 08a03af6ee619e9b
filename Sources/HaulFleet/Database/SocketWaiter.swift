internal import Foundation

/// Blocks the thread of a connection until its socket is ready. A wait also ends at the deadline of the current call,
/// or when another thread cancels that call and wakes this thread.
final class SocketWaiter {
    private let pipe: WakePipe
    /// The call that the thread is answering; `nil` between calls.
    var call: DatabaseCall?

    init(_ pipe: WakePipe) { self.pipe = pipe }

    /// Waits for the socket. Throws if the call ends or the time is over.
    ///
    /// - Parameter limit: a limit in addition to the call's deadline; the earlier one counts.
    /// - Returns: whether the socket is readable.
    func wait(
        for socket: Int32,
        reading: Bool,
        writing: Bool,
        until limit: ContinuousClock.Instant? = nil
    ) throws(FleetError) -> Bool {
        guard socket >= 0 else { throw FleetError(.databaseUnreachable, "The connection to the database was lost.") }
        while true {
            let end = [limit, call?.deadline].compactMap(\.self).min()
            let events = (reading ? POLLIN : 0) | (writing ? POLLOUT : 0)
            let found = poll(socket, Int16(events), until: end)
            if call?.isOver == true { throw FleetError(.cancelled, "The call to the database was cancelled.") }
            if found != 0 { return found & Int16(POLLIN | POLLHUP | POLLERR) != 0 }
            if let end, end <= .now { throw FleetError(.databaseUnreachable, "The database did not answer in time.") }
        }
    }

    /// Sleeps for `duration`, until the call's deadline at most. Throws if the call is cancelled.
    func sleep(for duration: Duration) throws(FleetError) {
        let end = min(ContinuousClock.now + duration, call?.deadline ?? ContinuousClock.now + duration)
        while end > .now {
            _ = poll(-1, 0, until: end)
            if call?.isOver == true { throw FleetError(.cancelled, "The call to the database was cancelled.") }
        }
    }

    /// Waits between calls for a new call or for input on the socket.
    ///
    /// - Returns: whether the socket has an event.
    func idle(_ socket: Int32) -> Bool { poll(socket, Int16(POLLIN), until: nil) != 0 }

    /// Returns the events of the socket; 0 after a timeout or a wake-up.
    private func poll(_ socket: Int32, _ events: Int16, until end: ContinuousClock.Instant?) -> Int16 {
        var sockets = [
            pollfd(fd: pipe.readEnd, events: Int16(POLLIN), revents: 0),
            // poll(2) ignores negative descriptors.
            pollfd(fd: socket, events: events, revents: 0),
        ]
        let milliseconds = end.map { Int32(clamping: (max(.zero, $0 - .now)).wholeMilliseconds) } ?? -1
        // poll(2) fails if a signal interrupts it or memory is short. Callers check their condition again.
        guard Foundation.poll(&sockets, 2, milliseconds) > 0 else { return 0 }
        if sockets[0].revents != 0 { pipe.drain() }
        return sockets[1].revents
    }
}
