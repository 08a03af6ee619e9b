/// What others look at, beside ``state``, ``hold``, ``settings``, ``resource``, ``persisted`` and ``sources``. Only the machine
/// writes these.
extension DownloadMachine {
    var isTransferring: Bool {
        if case .transferring = state { return true }
        return false
    }

    /// Every byte is here; what remains is the disk's business.
    var isComplete: Bool { state == .verifying || state == .publishing }

    /// Whether the next event may lead to further connections: it is to be handled with ``Surroundings`` then.
    var needsSurroundings: Bool {
        switch state {
        case .preparing(_, let preparation, _):
            settings.pieces != nil || preparation.resource.total ?? .max > settings.limits.smallestPiece
        case .transferring: true
        default: false
        }
    }

    /// A further connection found no connection slot.
    var wantsConnectionSlot: Bool { transfer.wantsConnectionSlot }

    /// Several connections share the file.
    var isShared: Bool { transfer.isShared }

    /// The end of this wait is not out of date.
    func isWaiting(for timer: TimerID) -> Bool { timer.number == timers }

    /// What each connection does that brings bytes.
    func connections(at now: Instant) -> [DownloadSnapshot.Connection] {
        transfer.active.filter { $0.value.isFlowing }.sorted { $0.key.number < $1.key.number }.map { id, connection in
            let remainingRange = transfer.plan?.segments[id]?.remainingRange ?? persisted.prefix..<persisted.prefix
            return .init(
                host: connection.origin.host,
                remainingRange: remainingRange,
                bytesPerSecond: connection.bytesPerSecond(at: now)
            )
        }
    }

    /// How many of its connections go to a host.
    func connections(to host: Origin) -> Int { transfer.active.values.count { $0.origin == host } }

    /// How many of its connections to a host have brought bytes a short while ago.
    func flowingConnections(to host: Origin, at now: Instant) -> Int {
        transfer.active.values.count {
            $0.origin == host && $0.isFlowing && now - $0.lastByte < Self.longestPauseOfProgress
        }
    }

    private static let longestPauseOfProgress: Duration = .seconds(10)
}
