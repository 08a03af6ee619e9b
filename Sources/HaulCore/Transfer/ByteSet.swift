/// A set of byte positions of a file, as sorted ranges.
package typealias ByteSet = RangeSet<Int64>

extension ByteSet {
    /// Creates the set of the first `count` bytes.
    package init(prefix count: Int64) {
        self.init()
        if count > 0 { insert(contentsOf: 0..<count) }
    }

    /// Number of bytes in the set.
    package var count: Int64 { ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } }

    /// Length of the in-order prefix: the bytes from 0 to the first gap.
    package var prefix: Int64 { end(from: 0) }

    /// Returns the first position from `position` on that is not in the set.
    package func end(from position: Int64) -> Int64 {
        let stretch = firstStretch(endingAfter: position)
        guard stretch < ranges.count, ranges[stretch].lowerBound <= position else { return position }
        return ranges[stretch].upperBound
    }

    /// Returns the index of the first range that ends behind `position`; the number of ranges if there is none.
    private func firstStretch(endingAfter position: Int64) -> Int {
        let ranges = ranges
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = low + (high - low) / 2
            if ranges[middle].upperBound <= position { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Returns the first byte of `range` that is not in the set; the end of `range` if the set contains all of it.
    package func firstMissing(in range: Range<Int64>) -> Int64 {
        Swift.min(end(from: range.lowerBound), range.upperBound)
    }

    /// Whether the set contains any byte of `range`.
    package func intersects(_ range: Range<Int64>) -> Bool {
        guard !range.isEmpty else { return false }
        let stretch = firstStretch(endingAfter: range.lowerBound)
        return stretch < ranges.count && ranges[stretch].lowerBound < range.upperBound
    }

    /// Returns the first gap before `total`; `nil` if there is none. `upper` is `nil` if no range follows the gap and
    /// `total` is `nil`.
    package func firstGap(before total: Int64?) -> (lower: Int64, upper: Int64?)? {
        let lower = prefix
        if let total, lower >= total { return nil }
        let next = ranges.first { $0.lowerBound > lower }?.lowerBound
        return (lower, next ?? total)
    }

    /// Whether the set contains every byte of `range`.
    package func containsAll(of range: Range<Int64>) -> Bool { end(from: range.lowerBound) >= range.upperBound }
}

extension ByteSet {
    /// The ranges in order as text, for example `0-100,250-300`, with exclusive ends.
    package var text: String { ranges.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ",") }

    /// Parses ``text``. Ignores invalid ranges, because their bytes are only fetched again. The store may have been
    /// edited by hand.
    package init(text: String) {
        self.init()
        for stretch in text.split(separator: ",") {
            let ends = stretch.split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) ?? -1 }
            guard ends.count == 2, ends[0] >= 0, ends[0] < ends[1] else { continue }
            insert(contentsOf: ends[0]..<ends[1])
        }
    }
}
