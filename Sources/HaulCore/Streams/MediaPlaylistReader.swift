internal import Foundation

/// Reads the lines of a media playlist.
struct MediaPlaylistReader {
    private var scope: PlaylistScope
    private var playlist = MediaPlaylist()
    private var hasTargetDuration = false
    private var keys = KeysInForce()
    private var map: InitializationSection?
    private var discontinuityNumber: Int64 = 0
    private var hasDiscontinuity = false
    private var bitrate: Int64?
    /// URL and end of the last segment's range; `nil` if the last segment has no range.
    private var lastRange: (url: HTTPURL, end: Int64)?
    private var next = NextSegment()

    /// The tags that count for the next URI only.
    private struct NextSegment {
        var duration: Double?
        var range: (length: Int64, start: Int64?)?
        var isGap = false
        var programDate: Date?
    }

    private init(_ scope: PlaylistScope) { self.scope = scope }

    static func read(_ bytes: [UInt8], _ scope: PlaylistScope) throws(StreamError) -> MediaPlaylist {
        var reader = MediaPlaylistReader(scope)
        for line in PlaylistLines(bytes) {
            switch line.content {
            case .uri(let text): try reader.takeURI(text, line.number)
            case .tag(let tag, let text): try reader.take(tag, text, line.number)
            }
        }
        if reader.next.duration != nil, reader.playlist.hasEndMark {
            throw .invalid("the last segment has no URI", line: 0)
        }
        guard reader.hasTargetDuration || reader.playlist.segments.isEmpty else {
            throw .invalid("it has no EXT-X-TARGETDURATION, so it is a list of files rather than a stream", line: 0)
        }
        reader.playlist.variables = reader.scope.variables
        return reader.playlist
    }

    private mutating func take(_ tag: PlaylistTag, _ text: ArraySlice<UInt8>, _ line: Int) throws(StreamError) {
        switch tag {
        case .version: playlist.version = PlaylistNumber.integer(text).map { Int(min($0, 1000)) } ?? playlist.version
        case .define: try scope.define(try attributes(text, line), line: line)
        case .start: playlist.start = start(try attributes(text, line)) ?? playlist.start
        case .targetDuration: try takeTargetDuration(text, line)
        case .mediaSequence, .discontinuitySequence: try takeFirstNumber(tag, text, line)
        case .endList: (playlist.isEnded, playlist.hasEndMark) = (true, true)
        case .playlistType:
            playlist.kind = MediaPlaylist.Kind(rawValue: String(decoding: text, as: UTF8.self))
            // A playlist of this type must not change, whether or not it has an end mark (rfc8216bis §4.4.3.5).
            if playlist.kind == .vod { playlist.isEnded = true }
        case .iFramesOnly: playlist.isIFramesOnly = true
        case .skip: throw .unsupported("the server sent a playlist with segments left out, which nobody asked for")
        case .duration:
            if next.duration != nil { throw .invalid("a segment has no URI", line: line) }
            next.duration = try duration(text, line)
        case .byteRange:
            next.range = PlaylistNumber.range(text)
            if next.range == nil { throw .invalid("a byte range is impossible", line: line) }
        case .discontinuity: try takeDiscontinuity(line)
        case .key: try keys.take(try attributes(text, line), &scope, line: line)
        case .map: map = try initializationSection(try attributes(text, line), line)
        case .programDate: next.programDate = PlaylistDate.parse(text)
        case .gap: next.isGap = true
        case .bitrate: bitrate = PlaylistNumber.integer(text).flatMap { $0 < 1 << 40 ? $0 * 1000 : nil }
        case .part, .media, .variant, .iFrameVariant, .sessionData, .sessionKey, .steering: break
        }
    }

    private func attributes(_ text: ArraySlice<UInt8>, _ line: Int) throws(StreamError) -> AttributeList {
        try AttributeList(text, line: line, limits: scope.limits)
    }
}

// MARK: - Tags of the playlist

extension MediaPlaylistReader {
    private func start(_ attributes: AttributeList) -> MediaPlaylist.Start? {
        guard let offset = attributes["TIME-OFFSET"].flatMap(PlaylistNumber.signedDecimal) else { return nil }
        let isPrecise = attributes["PRECISE"]?.elementsEqual("YES".utf8) ?? false
        return MediaPlaylist.Start(offset: offset, isPrecise: isPrecise)
    }

    private mutating func takeTargetDuration(_ text: ArraySlice<UInt8>, _ line: Int) throws(StreamError) {
        guard let seconds = PlaylistNumber.decimal(text), seconds <= scope.limits.seconds else {
            throw .invalid("the target duration is impossible", line: line)
        }
        playlist.targetDuration = seconds.rounded(.up)
        hasTargetDuration = true
    }

    /// Takes the number of the first segment or discontinuity. The tag must come before the segments that it counts.
    private mutating func takeFirstNumber(
        _ tag: PlaylistTag,
        _ text: ArraySlice<UInt8>,
        _ line: Int
    ) throws(StreamError) {
        guard let number = PlaylistNumber.integer(text), number <= scope.limits.number else {
            throw .invalid("a sequence number is impossible", line: line)
        }
        guard playlist.segments.isEmpty, tag == .mediaSequence || !hasDiscontinuity else {
            throw .invalid("a sequence number comes behind the segments that it counts", line: line)
        }
        if tag == .mediaSequence {
            playlist.mediaSequence = number
        } else {
            playlist.discontinuitySequence = number
            discontinuityNumber = number
        }
    }
}

// MARK: - Tags of segments

extension MediaPlaylistReader {
    private mutating func takeDiscontinuity(_ line: Int) throws(StreamError) {
        let (number, overflows) = discontinuityNumber.addingReportingOverflow(1)
        guard !overflows else { throw .invalid("a sequence number is impossible", line: line) }
        discontinuityNumber = number
        hasDiscontinuity = true
    }

    /// Reads `10.5,Title`. The comma may be missing.
    private func duration(_ text: ArraySlice<UInt8>, _ line: Int) throws(StreamError) -> Double {
        let number = text.prefix { $0 != UInt8(ascii: ",") && $0 != 0x20 && $0 != 0x09 }
        guard let seconds = PlaylistNumber.decimal(number), seconds <= scope.limits.seconds else {
            throw .invalid("the duration of a segment is impossible", line: line)
        }
        return seconds
    }

    /// Reads a new `EXT-X-MAP`. Only the keys before the tag apply to its section.
    private mutating func initializationSection(
        _ attributes: AttributeList,
        _ line: Int
    ) throws(StreamError) -> InitializationSection {
        guard let uri = attributes["URI"] else { throw .invalid("EXT-X-MAP has no URI", line: line) }
        var range: ByteRange?
        if let bytes = attributes["BYTERANGE"] {
            let text = Array(try scope.text(bytes, line: line).utf8)[...]
            guard let (length, start) = PlaylistNumber.range(text) else {
                throw .invalid("a byte range is impossible", line: line)
            }
            guard let start else { throw .invalid("the byte range of EXT-X-MAP has no start", line: line) }
            range = try byteRange(start, length, line)
        }
        noteProtection()
        if let key = keys.key, key.statedVector == nil {
            throw .invalid("an initialization section is encrypted, and its key has no IV", line: line)
        }
        return InitializationSection(url: try scope.url(uri, line: line), range: range, key: keys.key)
    }

    private mutating func takeURI(_ text: ArraySlice<UInt8>, _ line: Int) throws(StreamError) {
        guard let duration = next.duration else {
            throw .invalid("a segment has no EXTINF with its duration", line: line)
        }
        guard playlist.segments.count < scope.limits.segments else {
            throw .tooLarge("it has more than \(scope.limits.segments) segments")
        }
        let url = try scope.url(text, line: line)
        let range = try next.range.map { range throws(StreamError) in
            let start = range.start ?? lastRange.flatMap { $0.url == url ? $0.end : nil }
            guard let start else {
                throw .invalid("a byte range has no start and follows no range of the same resource", line: line)
            }
            return try byteRange(start, range.length, line)
        }
        lastRange = range.map { (url, $0.upper) }
        noteProtection()
        playlist.segments.append(
            MediaSegment(
                number: playlist.mediaSequence + Int64(playlist.segments.count),
                url: url,
                range: range,
                duration: duration,
                discontinuityNumber: discontinuityNumber,
                key: keys.key,
                map: map,
                isGap: next.isGap,
                programDate: next.programDate,
                bitrate: bitrate
            )
        )
        next = NextSegment()
    }

    private mutating func noteProtection() {
        if playlist.protection == nil { playlist.protection = keys.protection }
    }

    private func byteRange(_ start: Int64, _ length: Int64, _ line: Int) throws(StreamError) -> ByteRange {
        let (end, overflows) = start.addingReportingOverflow(length)
        guard !overflows, length > 0, let range = ByteRange(start, end) else {
            throw .invalid("a byte range is impossible", line: line)
        }
        return range
    }
}
