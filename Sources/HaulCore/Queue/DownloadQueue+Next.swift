extension DownloadQueue {
    /// Returns approximately the next `count` downloads that will start, so that the caller can load them. Takes the
    /// waiting downloads of all hosts in their order, but in rounds: each round takes at most ``mostPerHost`` downloads
    /// of a host.
    package func next(_ count: Int) -> [DownloadID] {
        var next: [DownloadID] = []
        var views: [Int: View] = [:]
        // The hosts found so far, ordered by their next candidates. A host is found when its parent in the heap of
        // hosts has given its first download, so few hosts are examined.
        var reached = IndexedHeap()
        func isSooner(_ one: Int, _ other: Int) -> Bool {
            guard let left = views[one], let right = views[other] else { return false }
            if left.taken / mostPerHost != right.taken / mostPerHost { return left.taken < right.taken }
            guard let first = left.first, let second = right.first else { return left.first != nil }
            return waiting.precedes(first, second)
        }
        func reach(_ place: Int, of heap: IndexedHeap) {
            guard place < heap.count else { return }
            views[heap[place]] = View(hosts[heap[place]].line)
            reached.insert(heap[place], precedes: isSooner, moved: { _, _ in })
        }
        reach(0, of: open)
        reach(0, of: closed)
        while next.count < count, let host = reached.first, let first = views[host]?.first {
            next.append(waiting.id(first))
            views[host]?.take(by: waiting.precedes)
            reached.set(
                host,
                at: 0,
                isIn: views[host]?.first != nil,
                precedes: isSooner,
                moved: { _, _ in }
            )
            guard views[host]?.taken == 1 else { continue }
            let isOpen = Int(hosts[host].openPlace) != IndexedHeap.outside
            let place = Int(isOpen ? hosts[host].openPlace : hosts[host].closedPlace)
            reach(2 * place + 1, of: isOpen ? open : closed)
            reach(2 * place + 2, of: isOpen ? open : closed)
        }
        return next
    }

    /// The line of a host, of which the first `taken` downloads have been taken.
    private struct View {
        private let line: IndexedHeap
        /// Heap indices of the next candidates in ``line``: at first the root, then the children of taken elements.
        private var places = IndexedHeap()
        private(set) var taken = 0

        init(_ line: IndexedHeap) {
            self.line = line
            places.insert(0, precedes: { _, _ in false }, moved: { _, _ in })
        }

        var first: Int? { places.first.map { line[$0] } }

        mutating func take(by precedes: IndexedHeap.Precedes) {
            guard let place = places.first else { return }
            taken += 1
            places.remove(at: 0, precedes: { precedes(line[$0], line[$1]) }, moved: { _, _ in })
            for below in [2 * place + 1, 2 * place + 2] where below < line.count {
                places.insert(below, precedes: { precedes(line[$0], line[$1]) }, moved: { _, _ in })
            }
        }
    }
}
