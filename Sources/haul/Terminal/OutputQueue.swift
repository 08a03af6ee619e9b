import DequeModule

/// Lines that wait to be printed. Bounded: progress goes first, then changes of state, and at last even the lines that say how a
/// download ended; those are counted.
struct OutputQueue: Sendable {
    enum Importance: Sendable, Hashable {
        /// Only the newest line of a download is of interest.
        case progress(of: String)
        /// A later line says more.
        case passing
        /// An ended download, an error, the path of a complete file.
        case end
    }

    struct Line: Sendable, Hashable {
        let text: String
        let descriptor: Int32
    }

    /// Bytes that may wait before lines of a kind are dropped.
    struct Bounds: Sendable {
        var progress = 256 << 10
        var passing = 1 << 20
        var end = 32 << 20
    }

    private struct Item {
        var line: Line
        let key: String?
    }

    private let bounds: Bounds
    private var items: Deque<Item> = []
    /// The number of the first item; they are numbered in the order in which they came.
    private var first = 0
    /// The number of the progress line of a download that nothing else of it follows.
    private var replaceable: [String: Int] = [:]
    private(set) var waitingBytes = 0
    /// Lines of the kind ``Importance/end`` that found the queue full, by descriptor.
    private(set) var dropped: [Int32: Int] = [:]

    init(_ bounds: Bounds = Bounds()) { self.bounds = bounds }

    var isEmpty: Bool { items.isEmpty }
    var count: Int { items.count }

    /// - Parameter id: the download that the line is about, if it is about one.
    mutating func put(_ line: Line, _ importance: Importance, of id: String? = nil) {
        switch importance {
        case .progress(let id):
            if let number = replaceable[id] {
                let place = number - first
                waitingBytes += line.text.utf8.count - items[place].line.text.utf8.count
                items[place].line = line
                return
            }
            guard waitingBytes < bounds.progress else { return }
            replaceable[id] = first + items.count
            append(line, id)
        case .passing:
            // What came before it is not to overtake it, whether it is dropped or not.
            if let id { replaceable[id] = nil }
            guard waitingBytes < bounds.passing else { return }
            append(line, nil)
        case .end:
            if let id { replaceable[id] = nil }
            guard waitingBytes < bounds.end else {
                dropped[line.descriptor, default: 0] += 1
                return
            }
            append(line, nil)
        }
    }

    private mutating func append(_ line: Line, _ key: String?) {
        items.append(Item(line: line, key: key))
        waitingBytes += line.text.utf8.count
    }

    mutating func next() -> Line? {
        guard let item = items.popFirst() else { return nil }
        if let key = item.key, replaceable[key] == first { replaceable[key] = nil }
        first += 1
        waitingBytes -= item.line.text.utf8.count
        return item.line
    }

    /// A line that was taken could not be written.
    mutating func lost(_ line: Line) { dropped[line.descriptor, default: 0] += 1 }
}
