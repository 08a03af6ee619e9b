import HaulKit

@testable import HaulFleet

extension SimulatedQueue {
    /// Worker of a result that no worker has reported.
    static let nobody: WorkerID = -1

    /// Cancels the item at `item`, or all if it is `nil`, except for items that are about to be published.
    ///
    /// - Returns: the number of items that were cancelled.
    mutating func cancel(_ item: Int?) -> Int {
        feedAll(for: item)
        var count = 0
        for index in item.map({ $0..<$0 + 1 }) ?? 0..<itemCount {
            guard let row = takeForCancellation(index) else { continue }
            orphan(index, row)
            let failure = Failure("cancelled", "Cancelled on request.")
            done[index] = DoneRow(epoch: row.epoch + 1, worker: Self.nobody, outcome: .failed(failure))
            count += 1
        }
        return count
    }

    /// Feeds the part of the list that has the item, because a cancellation feeds the other items of that part.
    private mutating func feedAll(for item: Int?) {
        guard item ?? fedTo >= fedTo else { return }
        for index in fedTo..<itemCount { ready[index] = Row() }
        fedTo = itemCount
    }

    private mutating func takeForCancellation(_ index: Int) -> Row? {
        if let row = ready[index] {
            ready[index] = nil
            return row
        }
        if let row = later[index]?.row {
            later[index] = nil
            return row
        }
        guard let leased = lease[index], !leased.isPublishing else { return nil }
        lease[index] = nil
        cancelledLeases[leased.worker, default: []].append(
            LeaseKey(item: Int64(index + 1), epoch: leased.row.epoch)
        )
        return leased.row
    }
}
