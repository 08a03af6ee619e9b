internal import HaulKit

/// Downloads of items that the worker no longer holds: partial files for a later lease, and downloads to remove.
struct Leftovers {
    struct Unwanted: Sendable {
        let item: Int64
        let id: DownloadID
        /// Path of the staged file of a complete download; `nil` for other downloads.
        let stagedPath: String?
    }

    /// Number of unwanted downloads at which the removal begins immediately. Fewer downloads wait for the planned
    /// removal.
    private static let removedTogether = 256

    /// Maximum number of kept partial files.
    private let mostKept: Int
    /// Partial files, oldest first.
    private var kept: [(item: Int64, id: DownloadID)] = []
    private var unwanted: [Unwanted] = []
    private var isRemovalPlanned = false
    /// Items whose bytes are not kept, because their bodies exceed the size in the list or do not fit on the disk.
    private var endless: Set<Int64> = []

    init(mostKept: Int) { self.mostKept = mostKept }

    // MARK: Partial files

    var keptItems: [Int64] { kept.map(\.item) }

    func isKept(_ id: DownloadID) -> Bool { kept.contains { $0.id == id } }

    mutating func keep(_ item: Int64, _ id: DownloadID) { kept.append((item, id)) }

    /// Takes a download back into use.
    mutating func reuse(_ id: DownloadID) { kept.removeAll { $0.id == id } }

    /// Makes the oldest partial files unwanted if there are too many.
    mutating func giveUpOldest() {
        while kept.count > mostKept {
            let oldest = kept.removeFirst()
            giveUp(oldest.item, oldest.id)
        }
    }

    /// Makes a partial file unwanted if another worker has ended its item.
    mutating func giveUp(finished: Set<Int64>) {
        for (item, id) in kept where finished.contains(item) { giveUp(item, id) }
        kept.removeAll { finished.contains($0.item) }
    }

    mutating func markEndless(_ item: Int64) { endless.insert(item) }

    /// - Returns: whether the item was marked as endless. The mark is removed.
    mutating func takeEndlessMark(_ item: Int64) -> Bool { endless.remove(item) != nil }

    // MARK: Removal

    var isRemovalDue: Bool { unwanted.count >= Self.removedTogether }
    var hasUnwanted: Bool { !unwanted.isEmpty }

    func hasUnwanted(of items: Set<Int64>) -> Bool { unwanted.contains { items.contains($0.item) } }

    mutating func giveUp(_ item: Int64, _ id: DownloadID, stagedPath: String? = nil) {
        unwanted.append(Unwanted(item: item, id: id, stagedPath: stagedPath))
    }

    /// Returns the unwanted downloads, which the caller removes.
    mutating func takeUnwanted() -> [Unwanted] {
        defer { unwanted = [] }
        return unwanted
    }

    /// - Returns: `false` if a removal is planned already.
    mutating func planRemoval() -> Bool {
        guard !isRemovalPlanned else { return false }
        isRemovalPlanned = true
        return true
    }

    mutating func plannedRemovalBegan() { isRemovalPlanned = false }
}
