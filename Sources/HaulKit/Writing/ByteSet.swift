/// Some of the bytes of a file, as the stretches they lie in.
typealias ByteSet = RangeSet<Int64>

extension ByteSet {
    /// The first `count` bytes.
    init(prefix count: Int64) {
        self.init()
        if count > 0 { insert(contentsOf: 0..<count) }
    }

    /// How many bytes these are.
    var count: Int64 { ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } }

    /// How many bytes there are from the first byte of the file on before one is missing.
    var prefix: Int64 { end(from: 0) }

    /// The first byte from `position` on that is not here.
    func end(from position: Int64) -> Int64 {
        let stretch = firstStretch(endingAfter: position)
        guard stretch < ranges.count, ranges[stretch].lowerBound <= position else { return position }
        return ranges[stretch].upperBound
    }

    /// The number of the first stretch that ends behind this position.
    private func firstStretch(endingAfter position: Int64) -> Int {
        let ranges = ranges
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = low + (high - low) / 2
            if ranges[middle].upperBound <= position { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The first byte of the range that is not here; the range's end when all of it is.
    func firstMissing(in range: Range<Int64>) -> Int64 { Swift.min(end(from: range.lowerBound), range.upperBound) }

    /// Whether any byte of the range is here.
    func intersects(_ range: Range<Int64>) -> Bool {
        guard !range.isEmpty else { return false }
        let stretch = firstStretch(endingAfter: range.lowerBound)
        return stretch < ranges.count && ranges[stretch].lowerBound < range.upperBound
    }

    /// The first stretch before `total` that is not here; without a total it has no end. Nil when nothing is missing.
    func firstGap(before total: Int64?) -> (lower: Int64, upper: Int64?)? {
        let lower = prefix
        if let total, lower >= total { return nil }
        let next = ranges.first { $0.lowerBound > lower }?.lowerBound
        return (lower, next ?? total)
    }

    /// Whether every byte of `range` is here.
    func containsAll(of range: Range<Int64>) -> Bool { end(from: range.lowerBound) >= range.upperBound }
}

extension ByteSet {
    /// Written `0-100,250-300`: stretches in order, their ends not included.
    var text: String { ranges.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ",") }

    /// Reads ``text``. Whatever is not a stretch is left out: a store that was edited by hand may say anything, and bytes that
    /// are not claimed only have to be fetched again.
    init(text: String) {
        self.init()
        for stretch in text.split(separator: ",") {
            let ends = stretch.split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) ?? -1 }
            guard ends.count == 2, ends[0] >= 0, ends[0] < ends[1] else { continue }
            insert(contentsOf: ends[0]..<ends[1])
        }
    }
}
