internal import OrderedCollections

/// The hosts at which downloads of a queue wait, run or back off, and the hosts that rest. A host keeps its number
/// until it is removed.
package struct QueueHosts: Sendable {
    private var names: OrderedSet<String> = []
    /// The numbers of the hosts, in the order of `names`.
    private var numbers: [Int32] = []
    private var hosts: [Host] = []
    private var unused: [Int32] = []

    package struct Host: Sendable {
        /// The waiting downloads of the host, the next one first.
        package var line = IndexedHeap()
        /// Places of the host in the queue's `open` and `closed` heaps. A host with waiting downloads is in one of the
        /// heaps.
        var openPlace = Int32(IndexedHeap.outside)
        var closedPlace = Int32(IndexedHeap.outside)
        fileprivate var nameIndex: Int32
    }

    package subscript(number: Int) -> Host {
        get { hosts[number] }
        _modify { yield &hosts[number] }
    }

    package func name(_ number: Int) -> String { names[Int(hosts[number].nameIndex)] }

    package mutating func number(of name: String) -> Int {
        let (isNew, index) = names.append(name)
        guard isNew else { return Int(numbers[index]) }
        let host = Host(nameIndex: Int32(index))
        let number = unused.popLast().map { Int($0) } ?? hosts.count
        if number == hosts.count { hosts.append(host) } else { hosts[number] = host }
        numbers.append(Int32(number))
        return number
    }

    /// Removes a host. Its number may be reused for another host.
    package mutating func remove(_ number: Int) {
        let index = Int(hosts[number].nameIndex)
        let last = names.count - 1
        names.swapAt(index, last)
        numbers.swapAt(index, last)
        hosts[Int(numbers[index])].nameIndex = Int32(index)
        names.removeLast()
        numbers.removeLast()
        unused.append(Int32(number))
        guard names.isEmpty else { return }
        hosts = []
        unused = []
    }

    package var count: Int { names.count }
}
