/// A fragment as it lies in a file: the bytes of its `moof`, and the places of the media data that follow.
package struct StoredFragment: Sendable, Hashable {
    /// The file that holds the fragment, by the caller's number.
    package let source: Int
    /// The whole `moof` box.
    package let moof: [UInt8]
    /// Position of `moof`, counted from the start of its segment.
    package let moofPosition: Int64
    /// Position of the segment in the file, and in the resource that the server has.
    package let segmentPosition: Int64
    package let resourcePosition: Int64
    /// Contents of the `mdat` boxes, counted from the start of the segment.
    package internal(set) var data: [Range<Int64>]

    /// Length of all media data.
    package var dataLength: Int64 { data.reduce(0) { $0.addingClamped(Int64($1.count)) } }
}

/// Finds the fragments of a segment without reading its media data.
///
/// The caller reads the range ``wanted``, hands it to ``take(_:)``, and repeats this until ``wanted`` is `nil`.
/// Drops `styp`, `sidx`, `ssix`, `prft` and `free`, whose offsets and times count for the segment alone, and `emsg`,
/// whose events no player of a file shows.
package struct SegmentScan: Sendable {
    /// Bytes of one read, unless a `moof` is longer.
    static let readLength: Int64 = 64 << 10
    /// Maximum number of bytes of all `moof` boxes in one segment together.
    static let maximumDescription: Int64 = 16 << 20
    /// Maximum number of `mdat` boxes in a fragment.
    static let maximumData = 64

    private let source: Int
    private let range: Range<Int64>
    private let resourcePosition: Int64
    private var position: Int64
    private var descriptionBytes: Int64 = 0
    /// The fragments that were found, complete when ``wanted`` is `nil`.
    package private(set) var fragments: [StoredFragment] = []
    /// The range of the file that the scan needs next.
    package private(set) var wanted: Range<Int64>?

    /// - Parameters:
    ///   - source: Number of the file, for ``OutputPiece``.
    ///   - range: Where the segment lies in the file.
    ///   - resourcePosition: First byte of the segment in the server's resource: the offset of its `EXT-X-BYTERANGE`.
    package init(source: Int, range: Range<Int64>, resourcePosition: Int64 = 0) {
        self.source = source
        self.range = range
        self.resourcePosition = resourcePosition
        position = range.lowerBound
        wanted = next(atLeast: 0)
    }

    private func next(atLeast length: Int64) -> Range<Int64> {
        let longest = range.upperBound - position
        return position..<(position + min(longest, max(length, Self.readLength)))
    }

    /// Takes the bytes of ``wanted``.
    package mutating func take(_ bytes: [UInt8]) throws(MediaError) {
        guard let taken = wanted else { return }
        guard Int64(bytes.count) == Int64(taken.count) else { throw .truncated("????") }
        while position < range.upperBound {
            let rest = bytes[Int(clamping: min(position - taken.lowerBound, Int64(bytes.count)))...]
            let left = range.upperBound - position
            guard Int64(rest.count) >= min(left, Int64(BoxHeader.maximumLength)) else {
                wanted = next(atLeast: 0)
                return
            }
            if left == range.upperBound - range.lowerBound { try BoxHeader.checkStart(rest) }
            let header = try BoxHeader(
                rest.prefix(BoxHeader.maximumLength),
                available: left,
                position: position - range.lowerBound
            )
            if header.type == "moof", Int64(rest.count) < header.length {
                try check(header)
                wanted = next(atLeast: header.length)
                return
            }
            try take(header, rest)
            position += header.length
        }
        wanted = nil
        guard !fragments.isEmpty else { throw .missing("moof", in: "segment") }
    }

    private func check(_ header: BoxHeader) throws(MediaError) {
        guard header.length <= Self.maximumDescription - descriptionBytes else {
            throw .tooLarge(header.type, bytes: header.length)
        }
    }

    private mutating func take(_ header: BoxHeader, _ rest: ArraySlice<UInt8>) throws(MediaError) {
        switch header.type {
        case "moof":
            try check(header)
            descriptionBytes += header.length
            fragments.append(
                StoredFragment(
                    source: source,
                    moof: Array(rest.prefix(Int(header.length))),
                    moofPosition: position - range.lowerBound,
                    segmentPosition: range.lowerBound,
                    resourcePosition: resourcePosition,
                    data: []
                )
            )
        case "mdat":
            guard let last = fragments.indices.last else { throw .missing("moof", in: "segment") }
            guard fragments[last].data.count < Self.maximumData else { throw .tooMany("mdat") }
            let start = position - range.lowerBound
            fragments[last].data.append((start + header.headerLength)..<(start + header.length))
        // Refuses a `moov` in a segment, because it may describe other samples than the init section.
        case "moov": throw .changedInitSection
        default: break
        }
    }
}
