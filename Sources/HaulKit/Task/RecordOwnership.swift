/// Relation between the record in memory and its row in the store.
struct RecordOwnership {
    /// Whether the record belongs to this process. While `false`, another process may run the download, and this one
    /// must not write the record.
    var isOwned = true
    /// Whether the user's pause could not be recorded. The row then says that the download is queued.
    var isPauseUnrecorded = false
    /// Whether the row was deleted and the listeners have not been notified yet.
    private var isRemovalUntold = false

    mutating func rowRemoved() { isRemovalUntold = true }

    /// - Returns: whether the caller has to notify the listeners that the row was deleted. `true` once for each
    ///   deletion.
    mutating func takeRemoval() -> Bool {
        defer { isRemovalUntold = false }
        return isRemovalUntold
    }
}
