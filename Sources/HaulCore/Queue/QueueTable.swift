internal import OrderedCollections

/// A table of the downloads of a queue that all wait, all run or all back off. The downloads are numbered from 0
/// without a gap. The table needs half the memory of a dictionary of numbers beside an array of items.
package struct QueueTable: Sendable {
    private var ids: OrderedSet<DownloadID> = []
    /// The items, by the number of the download.
    package var items: [Item] = []

    package struct Item: Sendable {
        package var priority: Int
        package var position: Int64
        /// The number of the host in ``QueueHosts``.
        package var host: Int32
        /// The place in the heap of the host's waiting or running downloads. Has no meaning while the download backs
        /// off.
        package var place: Int32 = Int32(IndexedHeap.outside)

        package init(priority: Int, position: Int64, host: Int32, place: Int32 = Int32(IndexedHeap.outside)) {
            self.priority = priority
            self.position = position
            self.host = host
            self.place = place
        }

        /// The priority of urged downloads; other downloads have a lower one.
        static let urged = Int.max
        var isUrged: Bool { priority == Self.urged }
    }

    package var count: Int { ids.count }
    /// The downloads, in the order of their numbers.
    package var all: some Collection<DownloadID> & Sendable { ids }

    package func id(_ number: Int) -> DownloadID { ids[number] }

    package func number(of id: DownloadID) -> Int? { ids.firstIndex(of: id) }

    /// Returns whether a download gets a slot before another. The order is total, so that the same calls always have
    /// the same outcome.
    func precedes(_ one: Int, _ other: Int) -> Bool {
        let (left, right) = (items[one], items[other])
        if left.priority != right.priority { return left.priority > right.priority }
        if left.position != right.position { return left.position < right.position }
        return ids[one].rawValue < ids[other].rawValue
    }

    package mutating func reserve(_ capacity: Int) {
        ids.reserveCapacity(capacity)
        items.reserveCapacity(capacity)
    }

    package mutating func append(_ id: DownloadID, _ item: Item) -> Int {
        ids.append(id)
        items.append(item)
        return items.count - 1
    }

    /// Removes the download `number` by moving the last download to that number.
    ///
    /// - Returns: whether another download has the number now.
    package mutating func remove(_ number: Int) -> Bool {
        let last = items.count - 1
        if number != last {
            ids.swapAt(number, last)
            items.swapAt(number, last)
        }
        ids.removeLast()
        items.removeLast()
        return number != last
    }
}
