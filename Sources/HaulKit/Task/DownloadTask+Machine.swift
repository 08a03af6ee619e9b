/// Questions of a task to its machine before and after each event.
///
/// Reads the stored properties of the machine in place. A computed property of the machine is called with a copy of
/// the whole machine, because the call could change the task.
extension DownloadTask {
    var isTransferring: Bool {
        if case .transferring = machine.state { return true }
        return false
    }

    /// Whether the next event may open additional connections. If so, the machine gets
    /// ``DownloadMachine/Surroundings`` with it.
    var needsSurroundings: Bool {
        switch machine.state {
        case .preparing(_, let preparation, _):
            machine.settings.pieces != nil
                || preparation.resource.total ?? .max > machine.settings.limits.smallestPiece
        case .transferring: true
        default: false
        }
    }

    /// Whether an additional connection found no free connection slot.
    var wantsConnectionSlot: Bool { machine.transfer.slots.isWanted }
}
