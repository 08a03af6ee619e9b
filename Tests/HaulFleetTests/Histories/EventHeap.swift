/// Future events, earliest first. Events of the same time keep the order of insertion.
struct EventHeap<Event> {
    private struct Entry {
        var time: Int64
        var order: Int
        var event: Event

        static func < (left: Entry, right: Entry) -> Bool {
            left.time != right.time ? left.time < right.time : left.order < right.order
        }
    }

    private var entries: [Entry] = []
    private var order = 0

    var isEmpty: Bool { entries.isEmpty }
    var nextTime: Int64? { entries.first?.time }

    mutating func push(_ event: Event, at time: Int64) {
        entries.append(Entry(time: time, order: order, event: event))
        order += 1
        var index = entries.count - 1
        while index > 0 {
            let parent = (index - 1) / 2
            guard entries[index] < entries[parent] else { break }
            entries.swapAt(index, parent)
            index = parent
        }
    }

    mutating func pop() -> (time: Int64, event: Event)? {
        guard let first = entries.first, let last = entries.popLast() else { return nil }
        guard !entries.isEmpty else { return (first.time, first.event) }
        entries[0] = last
        var index = 0
        while true {
            let left = 2 * index + 1
            guard left < entries.count else { break }
            let right = left + 1
            let child = right < entries.count && entries[right] < entries[left] ? right : left
            guard entries[child] < entries[index] else { break }
            entries.swapAt(index, child)
            index = child
        }
        return (first.time, first.event)
    }
}
