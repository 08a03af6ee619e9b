/// The listeners of a feed, and which of them still wait for their answer to begin.
struct FeedListeners {
    private var continuations: [Int: AsyncStream<Void>.Continuation] = [:]
    private var lastNumber = 0
    /// Listeners whose answer has not begun. The answer never begins if the client has left.
    private var unbegun: Set<Int> = []
    private(set) var isEnding = false

    var count: Int { continuations.count }
    var isEmpty: Bool { continuations.isEmpty }

    /// - Returns: the number of the new listener; `nil` if `limit` listeners exist, or after ``end()``.
    mutating func add(limit: Int) -> (number: Int, wakes: AsyncStream<Void>)? {
        guard count < limit, !isEnding else { return nil }
        lastNumber += 1
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        continuations[lastNumber] = continuation
        unbegun.insert(lastNumber)
        return (lastNumber, stream)
    }

    mutating func noteBegun(_ number: Int) { unbegun.remove(number) }

    /// Removes a listener whose answer has not begun.
    mutating func removeUnbegun(_ number: Int) {
        if unbegun.remove(number) != nil { remove(number) }
    }

    mutating func remove(_ number: Int) { continuations.removeValue(forKey: number)?.finish() }

    func wake() {
        for continuation in continuations.values { continuation.yield() }
    }

    /// Removes all listeners, and refuses new ones from now on.
    mutating func end() {
        isEnding = true
        for continuation in continuations.values { continuation.finish() }
        continuations = [:]
    }
}
