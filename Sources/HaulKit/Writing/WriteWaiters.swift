/// The readers of a partial file that wait until a byte is written.
struct WriteWaiters {
    /// Readers that the caller wakes after it has released the lock.
    struct Woken: Sendable {
        fileprivate var continuations: [CheckedContinuation<Void, Never>] = []

        func resume() {
            for continuation in continuations { continuation.resume() }
        }
    }

    private var waiting: [Int: (position: Int64, continuation: CheckedContinuation<Void, Never>)] = [:]
    private var last = 0
    /// Whether the download has released the file. No reader may wait after that.
    private(set) var isClosed = false

    mutating func nextNumber() -> Int {
        last += 1
        return last
    }

    /// - Returns: `false` after ``close()``: the reader must not wait.
    mutating func add(_ number: Int, _ position: Int64, _ continuation: CheckedContinuation<Void, Never>) -> Bool {
        guard !isClosed else { return false }
        waiting[number] = (position, continuation)
        return true
    }

    mutating func remove(_ number: Int) -> Woken {
        Woken(continuations: [waiting.removeValue(forKey: number)?.continuation].compactMap(\.self))
    }

    /// Removes the readers whose byte is written.
    ///
    /// - Returns: `nil` if no reader waits.
    mutating func removeServed(_ written: ByteSet) -> Woken? {
        if waiting.isEmpty { return nil }
        let served = waiting.filter { written.end(from: $0.value.position) > $0.value.position }
        for number in served.keys { waiting[number] = nil }
        return Woken(continuations: served.values.map(\.continuation))
    }

    mutating func removeAll() -> Woken {
        defer { waiting = [:] }
        return Woken(continuations: waiting.values.map(\.continuation))
    }

    mutating func close() -> Woken {
        isClosed = true
        return removeAll()
    }
}
