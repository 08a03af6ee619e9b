import DequeModule

/// A bounded queue of lines to print. When full, drops progress lines first, then changes of state, and last the lines
/// of ended downloads, which are counted.
struct OutputQueue: Sendable {
    enum Importance: Sendable, Hashable {
        /// A progress line: only the newest one of a download is of interest.
        case progress(of: String)
        /// A change of state: a later line says more.
        case passing
        /// The end of a download, an error, or the path of a complete file.
        case end
    }

    struct Line: Sendable, Hashable {
        let text: String
        let descriptor: Int32
    }

    /// Limits of waiting bytes. At a limit, the queue drops new lines of that kind.
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
    /// The number of the first item. Items are numbered in the order of arrival.
    private var first = 0
    /// For each download, the number of its waiting progress line, if no other line of the download follows.
    private var replaceable: [String: Int] = [:]
    private(set) var waitingBytes = 0
    /// Lost lines by descriptor: those of the kind ``Importance/end`` that found the queue full, and all that could not
    /// be written.
    private(set) var dropped: [Int32: Int] = [:]

    init(_ bounds: Bounds = Bounds()) { self.bounds = bounds }

    var isEmpty: Bool { items.isEmpty }
    var count: Int { items.count }

    /// - Parameter id: the download that the line is about; `nil` for none.
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
            // A progress line before this line must not be replaced by a later one, even if this line is dropped.
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

    /// Counts a line that was taken but could not be written.
    mutating func lost(_ line: Line) { dropped[line.descriptor, default: 0] += 1 }
}
