internal import OrderedCollections

/// The hosts at which downloads of a queue wait or run, by numbers that stay while the host does.
struct QueueHosts: Sendable {
    private var names: OrderedSet<String> = []
    /// Of the name at the same index.
    private var numbers: [Int32] = []
    private var hosts: [Host] = []
    private var unused: [Int32] = []

    struct Host: Sendable {
        /// Its downloads that wait, the next one first.
        var line = IndexedHeap()
        /// Its place among those that could start one, and among those that are full or rest, while some wait.
        var openPlace = Int32(IndexedHeap.outside)
        var closedPlace = Int32(IndexedHeap.outside)
        fileprivate var nameIndex: Int32
    }

    subscript(number: Int) -> Host {
        get { hosts[number] }
        _modify { yield &hosts[number] }
    }

    func name(_ number: Int) -> String { names[Int(hosts[number].nameIndex)] }

    mutating func number(of name: String) -> Int {
        let (isNew, index) = names.append(name)
        guard isNew else { return Int(numbers[index]) }
        let host = Host(nameIndex: Int32(index))
        let number = unused.popLast().map { Int($0) } ?? hosts.count
        if number == hosts.count { hosts.append(host) } else { hosts[number] = host }
        numbers.append(Int32(number))
        return number
    }

    /// The number is free for another host.
    mutating func remove(_ number: Int) {
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

    var count: Int { names.count }
}
