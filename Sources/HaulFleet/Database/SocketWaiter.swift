internal import Foundation

/// Waits of a connection's thread: for its socket, until the deadline of the call that is being answered, or until another thread
/// wakes it because the call was cancelled.
final class SocketWaiter {
    private let pipe: WakePipe
    /// The call that is being answered.
    var call: DatabaseCall?

    init(_ pipe: WakePipe) { self.pipe = pipe }

    /// - Parameter limit: an earlier end than the call's deadline.
    /// - Returns: whether there is something to read.
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

    /// Waits for a time, or until the call is cancelled.
    func sleep(for duration: Duration) throws(FleetError) {
        let end = min(ContinuousClock.now + duration, call?.deadline ?? ContinuousClock.now + duration)
        while end > .now {
            _ = poll(-1, 0, until: end)
            if call?.isOver == true { throw FleetError(.cancelled, "The call to the database was cancelled.") }
        }
    }

    /// Waits without a call for a new one, or for something on the socket.
    ///
    /// - Returns: whether something came on the socket.
    func idle(_ socket: Int32) -> Bool { poll(socket, Int16(POLLIN), until: nil) != 0 }

    /// - Returns: what happened on the socket; 0 when the time was over or the thread was woken.
    private func poll(_ socket: Int32, _ events: Int16, until end: ContinuousClock.Instant?) -> Int16 {
        var sockets = [
            pollfd(fd: pipe.readEnd, events: Int16(POLLIN), revents: 0),
            // poll(2) passes over a descriptor below 0.
            pollfd(fd: socket, events: events, revents: 0),
        ]
        let milliseconds = end.map { Int32(clamping: (max(.zero, $0 - .now)).wholeMilliseconds) } ?? -1
        // A failure is an interruption by a signal, or a moment without memory: the callers look again.
        guard Foundation.poll(&sockets, 2, milliseconds) > 0 else { return 0 }
        if sockets[0].revents != 0 { pipe.drain() }
        return sockets[1].revents
    }
}
