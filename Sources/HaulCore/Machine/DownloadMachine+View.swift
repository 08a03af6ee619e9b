/// Read access for other types, in addition to ``state``, ``hold``, ``settings``, ``resource``, ``persisted`` and
/// ``sources``. Only the machine changes these values.
extension DownloadMachine {
    /// Whether all bytes have arrived and only work on the disk remains.
    package var isComplete: Bool { state == .verifying || state == .publishing }

    /// Whether the machine has asked for a connection, be it the first or an additional one.
    package var hasIssuedConnections: Bool { transfer.hasIssuedConnections }

    /// The timer of the current or last wait.
    package var timer: TimerID { restTimer.timer }

    /// Whether `timer` belongs to the current or last wait, not to an earlier one.
    package func isWaiting(for timer: TimerID) -> Bool { timer == restTimer.timer }

    /// Returns the state of each connection that brings bytes.
    package func connections(at now: Instant) -> [DownloadSnapshot.Connection] {
        transfer.active.filter { $0.value.isFlowing }.sorted { $0.key.number < $1.key.number }.map { id, connection in
            let remainingRange = transfer.plan?.segments[id]?.remainingRange ?? persisted.prefix..<persisted.prefix
            return .init(
                host: connection.origin.host,
                remainingRange: remainingRange,
                bytesPerSecond: connection.bytesPerSecond(at: now)
            )
        }
    }

    /// Returns the number of connections to a host, including those that have no answer yet.
    package func connections(to host: Origin) -> Int { transfer.active.values.count { $0.origin == host } }

    /// Returns the number of connections to a host that brought bytes within the last 10 s.
    package func flowingConnections(to host: Origin, at now: Instant) -> Int {
        transfer.active.values.count {
            $0.origin == host && $0.isFlowing && now - $0.lastByte < Self.longestPauseOfProgress
        }
    }

    private static let longestPauseOfProgress: Duration = .seconds(10)
}
