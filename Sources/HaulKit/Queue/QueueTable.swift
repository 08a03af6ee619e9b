internal import OrderedCollections

/// Downloads of a queue that all wait, or all run, numbered from 0 without a gap; a table that takes half the memory of
/// a dictionary beside an array.
struct QueueTable: Sendable {
    private var ids: OrderedSet<DownloadID> = []
    /// By the number of the download.
    var items: [Item] = []

    struct Item: Sendable {
        var priority: Int
        var position: Int64
        /// Its number among the ``QueueHosts``.
        var host: Int32
        /// Its place in the line of its host.
        var place: Int32 = Int32(IndexedHeap.outside)

        /// No priority reaches that of a download that is urged.
        static let urged = Int.max
        var isUrged: Bool { priority == Self.urged }
    }

    var count: Int { ids.count }
    /// In the order of their numbers.
    var all: some Collection<DownloadID> & Sendable { ids }

    func id(_ number: Int) -> DownloadID { ids[number] }

    func number(of id: DownloadID) -> Int? { ids.firstIndex(of: id) }

    /// The order in which downloads are granted their slots; total, so that a history has one outcome.
    func precedes(_ one: Int, _ other: Int) -> Bool {
        let (left, right) = (items[one], items[other])
        if left.priority != right.priority { return left.priority > right.priority }
        if left.position != right.position { return left.position < right.position }
        return ids[one].rawValue < ids[other].rawValue
    }

    mutating func reserve(_ capacity: Int) {
        ids.reserveCapacity(capacity)
        items.reserveCapacity(capacity)
    }

    mutating func append(_ id: DownloadID, _ item: Item) -> Int {
        ids.append(id)
        items.append(item)
        return items.count - 1
    }

    /// The last one, if it is another, goes by the number of the one that leaves.
    ///
    /// - Returns: whether it does.
    mutating func remove(_ number: Int) -> Bool {
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
