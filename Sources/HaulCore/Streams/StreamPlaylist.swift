package import Foundation

/// A playlist of HTTP Live Streaming (RFC 8216, rfc8216bis).
package enum StreamPlaylist: Sendable, Hashable {
    /// Lists variants of one film.
    case multivariant(MultivariantPlaylist)
    /// Lists segments.
    case media(MediaPlaylist)

    /// Reads a playlist.
    ///
    /// - Parameters:
    ///   - bytes: the whole body.
    ///   - url: the playlist's URL after redirects. References are relative to it.
    ///   - imports: the variables of the multivariant playlist that names this one.
    /// - Returns: also a playlist of a protected stream, so that its variants can be listed;
    ///   ``MediaPlaylist/checkFetchable()`` refuses it.
    package static func parse(
        _ bytes: [UInt8],
        url: HTTPURL,
        imports: [String: String] = [:],
        limits: StreamLimits = StreamLimits()
    ) throws(StreamError) -> StreamPlaylist {
        guard bytes.count <= limits.playlistBytes else {
            throw .tooLarge("it has more than \(limits.playlistBytes >> 20) MiB")
        }
        guard isPlaylist(firstBytes: bytes) else { throw .notAPlaylist(impostor(bytes)) }
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .notAPlaylist(.notUTF8) }
        let scope = PlaylistScope(url: url, imports: imports, limits: limits)
        switch try kind(bytes) {
        case .multivariant: return .multivariant(try MultivariantReader.read(bytes, scope))
        case .media: return .media(try MediaPlaylistReader.read(bytes, scope))
        }
    }

    /// Reads a playlist. Converts `url` first, and throws ``StreamError`` if no HTTP request can be made for it.
    package static func parse(
        _ bytes: [UInt8],
        url: URL,
        imports: [String: String] = [:]
    ) throws(StreamError) -> StreamPlaylist {
        guard let url = HTTPURL(url) else { throw .invalid("its own URL cannot be requested", line: 0) }
        return try parse(bytes, url: url, imports: imports)
    }

    /// Finds the kind by the tags. Refuses a playlist with tags of both kinds, but allows `EXT-X-ENDLIST` beside
    /// variants.
    private static func kind(_ bytes: [UInt8]) throws(StreamError) -> PlaylistTag.Kind {
        var multivariantLine: Int?
        var mediaLine: Int?
        var hasEnd = false
        var hasURI = false
        for line in PlaylistLines(bytes) {
            switch line.content {
            case .uri: hasURI = true
            case .tag(.endList, _): hasEnd = true
            case .tag(let tag, _):
                switch tag.kind {
                case .multivariant: multivariantLine = multivariantLine ?? line.number
                case .media: mediaLine = mediaLine ?? line.number
                case nil: break
                }
            }
        }
        switch (multivariantLine, mediaLine) {
        case (let one?, let other?):
            throw .invalid("it has tags of segments and tags of variants", line: max(one, other))
        case (_?, nil): return .multivariant
        case (nil, _?): return .media
        case (nil, nil):
            if hasURI { throw .invalid("it lists addresses without the tags of HLS", line: 0) }
            if hasEnd { return .media }
            throw .notAPlaylist(.emptyList)
        }
    }
}

// MARK: - Recognition

extension StreamPlaylist {
    /// The media types of playlists, in lower case and without parameters.
    package static let mediaTypes: Set<String> = [
        "application/vnd.apple.mpegurl", "application/x-mpegurl", "application/mpegurl", "audio/mpegurl",
        "audio/x-mpegurl",
    ]

    private static let header = Array("#EXTM3U".utf8)

    /// Whether a body begins with the line `#EXTM3U`. A byte order mark is not allowed before it.
    package static func isPlaylist(firstBytes bytes: some Collection<UInt8>) -> Bool {
        guard bytes.starts(with: header) else { return false }
        return bytes.dropFirst(header.count).first.map { $0 == 0x0A || $0 == 0x0D || $0 == 0x20 || $0 == 0x09 } ?? true
    }

    /// Whether the media type or the path says that the body is a playlist. Only the first line of the body proves it.
    ///
    /// - Parameter mediaType: a `Content-Type`, perhaps with parameters.
    package static func isPlaylist(mediaType: String?, path: String) -> Bool {
        // Compares bytes, because each answer of each download comes here.
        if let mediaType, mediaTypes.contains(where: { names(mediaType, $0) }) { return true }
        return path.utf8.suffix(5).elementsEqual(".m3u8".utf8) { $0.asciiLowercased == $1 }
    }

    /// Whether a `Content-Type` names `mediaType`, which is in lower case. Ignores case, blanks and parameters of the
    /// `Content-Type`.
    private static func names(_ contentType: String, _ mediaType: String) -> Bool {
        var expected = mediaType.utf8.makeIterator()
        for byte in contentType.utf8.prefix(while: { $0 != UInt8(ascii: ";") }) where byte != 0x20 && byte != 0x09 {
            guard byte.asciiLowercased == expected.next() else { return false }
        }
        return expected.next() == nil
    }

    /// Whether a body is a list of files in the older format: it has an entry, and no tag of HLS. A body without an
    /// entry may be a list that was cut off, so it does not count.
    package static func isPlainList(_ body: [UInt8]) -> Bool {
        guard isPlaylist(firstBytes: body) else { return false }
        // Old programs end a line with a carriage return alone, which does not end a line in HLS.
        let lines = body.split { $0 == 0x0A || $0 == 0x0D }.map(PlaylistLine.trimmed)
        return lines.contains { $0.first.map { $0 != UInt8(ascii: "#") } ?? false }
            && !lines.contains { $0.starts(with: "#EXT-X-".utf8) }
    }

    private static func impostor(_ bytes: [UInt8]) -> StreamError.Impostor {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) && bytes.dropFirst(3).starts(with: header) { return .byteOrderMark }
        if bytes.starts(with: [0xFE, 0xFF]) || bytes.starts(with: [0xFF, 0xFE]) { return .notUTF8 }
        let front = bytes.prefix(1024).drop { $0 <= 0x20 }
        return front.first == UInt8(ascii: "<") ? .webPage : .noHeader
    }
}
