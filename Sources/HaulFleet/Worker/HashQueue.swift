internal import HaulKit

/// Small files that wait for their digest. Files that arrive during the work on a group form the next group, so that
/// each group needs one thread change.
struct HashQueue {
    private var waiting: [(lease: LeasedItem, file: CompletedDownload)] = []
    private var isHashing = false

    /// - Returns: whether the caller has to work on the groups. `false` while another caller does.
    mutating func append(_ lease: LeasedItem, _ file: CompletedDownload) -> Bool {
        waiting.append((lease, file))
        guard !isHashing else { return false }
        isHashing = true
        return true
    }

    /// Returns the next group. Ends the work if no file waits.
    mutating func nextGroup() -> [(lease: LeasedItem, file: CompletedDownload)]? {
        guard !waiting.isEmpty else {
            isHashing = false
            return nil
        }
        defer { waiting = [] }
        return waiting
    }
}
