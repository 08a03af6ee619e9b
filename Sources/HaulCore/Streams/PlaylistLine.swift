/// A line of a playlist with a tag or a URI. Comments, blank lines and unknown tags are left out.
struct PlaylistLine {
    /// The first line is 1.
    let number: Int
    let content: Content

    enum Content {
        case tag(PlaylistTag, ArraySlice<UInt8>)
        case uri(ArraySlice<UInt8>)
    }
}

/// The lines of a playlist, without the blanks around them. A line ends with a line feed, perhaps with a carriage
/// return before it.
struct PlaylistLines: Sequence, IteratorProtocol {
    private var rest: ArraySlice<UInt8>
    private var number = 0

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    mutating func next() -> PlaylistLine? {
        while !rest.isEmpty {
            let end = rest.firstIndex(of: 0x0A) ?? rest.endIndex
            let line = PlaylistLine.trimmed(rest[..<end])
            rest = rest[end...].dropFirst()
            number += 1
            if let content = Self.content(line) { return PlaylistLine(number: number, content: content) }
        }
        return nil
    }

    private static func content(_ line: ArraySlice<UInt8>) -> PlaylistLine.Content? {
        guard let first = line.first else { return nil }
        guard first == UInt8(ascii: "#") else { return .uri(line) }
        guard line.starts(with: "#EXT".utf8) else { return nil }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        return PlaylistTag(line[line.startIndex..<colon].dropFirst()).map {
            .tag($0, PlaylistLine.trimmed(line[colon...].dropFirst()))
        }
    }
}

extension PlaylistLine {
    static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0D }
        guard let last = text.lastIndex(where: { !isBlank($0) }) else { return [] }
        return text[...last].drop(while: isBlank)
    }
}

/// The tags that Haul reads. Every other tag is ignored.
enum PlaylistTag: String, CaseIterable {
    case version = "EXT-X-VERSION"
    case define = "EXT-X-DEFINE"
    case start = "EXT-X-START"

    case targetDuration = "EXT-X-TARGETDURATION"
    case mediaSequence = "EXT-X-MEDIA-SEQUENCE"
    case discontinuitySequence = "EXT-X-DISCONTINUITY-SEQUENCE"
    case endList = "EXT-X-ENDLIST"
    case playlistType = "EXT-X-PLAYLIST-TYPE"
    case iFramesOnly = "EXT-X-I-FRAMES-ONLY"
    case skip = "EXT-X-SKIP"

    case duration = "EXTINF"
    case byteRange = "EXT-X-BYTERANGE"
    case discontinuity = "EXT-X-DISCONTINUITY"
    case key = "EXT-X-KEY"
    case map = "EXT-X-MAP"
    case programDate = "EXT-X-PROGRAM-DATE-TIME"
    case gap = "EXT-X-GAP"
    case bitrate = "EXT-X-BITRATE"
    case part = "EXT-X-PART"

    case media = "EXT-X-MEDIA"
    case variant = "EXT-X-STREAM-INF"
    case iFrameVariant = "EXT-X-I-FRAME-STREAM-INF"
    case sessionData = "EXT-X-SESSION-DATA"
    case sessionKey = "EXT-X-SESSION-KEY"
    case steering = "EXT-X-CONTENT-STEERING"

    init?(_ name: ArraySlice<UInt8>) {
        guard (6...32).contains(name.count), let tag = Self.names[String(decoding: name, as: UTF8.self)] else {
            return nil
        }
        self = tag
    }

    private static let names = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })

    /// The kind of playlist that has the tag; `nil` if both have it.
    var kind: Kind? {
        switch self {
        case .version, .define, .start: nil
        case .targetDuration, .mediaSequence, .discontinuitySequence, .playlistType, .iFramesOnly, .skip, .duration,
            .byteRange, .discontinuity, .key, .map, .programDate, .gap, .bitrate, .part, .endList:
            .media
        case .media, .variant, .iFrameVariant, .sessionData, .sessionKey, .steering: .multivariant
        }
    }

    enum Kind { case media, multivariant }
}
