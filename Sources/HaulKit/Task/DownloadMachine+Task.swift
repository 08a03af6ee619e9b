/// What a task asks its machine before and after each event.
///
/// Declared beside the task: a computed property of another module is read from a copy of the whole machine.
extension DownloadMachine {
    var isTransferring: Bool {
        if case .transferring = state { return true }
        return false
    }

    /// Whether the next event may open additional connections. If so, the task passes ``Surroundings`` with it.
    var needsSurroundings: Bool {
        switch state {
        case .preparing(_, let preparation, _):
            settings.pieces != nil || preparation.resource.total ?? .max > settings.limits.smallestPiece
        case .transferring: true
        default: false
        }
    }

    /// Whether an additional connection found no free connection slot.
    var wantsConnectionSlot: Bool { transfer.slots.isWanted }
}
