/// Builds a ``MultivariantPlaylist`` from the lines of an HLS playlist that lists variants and renditions.
struct MultivariantReader {
    private var scope: PlaylistScope
    private var playlist = MultivariantPlaylist()
    /// An `EXT-X-STREAM-INF` whose URI has not come yet; `nil` after the URI.
    private var pending: (attributes: AttributeList, line: Int)?
    private var hasUsableKey = false

    private init(_ scope: PlaylistScope) { self.scope = scope }

    static func read(_ bytes: [UInt8], _ scope: PlaylistScope) throws(StreamError) -> MultivariantPlaylist {
        var reader = MultivariantReader(scope)
        for line in PlaylistLines(bytes) {
            switch line.content {
            case .uri(let text): try reader.takeURI(text, line.number)
            case .tag(let tag, let text): try reader.take(tag, text, line.number)
            }
        }
        if let pending = reader.pending { throw noURI(pending.line) }
        reader.playlist.variables = reader.scope.variables
        // One usable key is enough, because the other tags state the same key for other systems.
        if reader.hasUsableKey { reader.playlist.protection = nil }
        return reader.playlist
    }

    private mutating func take(_ tag: PlaylistTag, _ text: ArraySlice<UInt8>, _ line: Int) throws(StreamError) {
        switch tag {
        case .define: try scope.define(try attributes(text, line), line: line)
        case .variant:
            if let pending { throw Self.noURI(pending.line) }
            pending = (try attributes(text, line), line)
        case .media: try takeRendition(try attributes(text, line), line)
        case .sessionKey:
            switch try KeysInForce.declared(try attributes(text, line), &scope, line: line)?.key {
            case .usable: hasUsableKey = true
            case .unusable(let protection): playlist.protection = playlist.protection ?? protection
            case nil: break
            }
        default: break
        }
    }

    private static func noURI(_ line: Int) -> StreamError { .invalid("a variant has no URI", line: line) }

    private func attributes(_ text: ArraySlice<UInt8>, _ line: Int) throws(StreamError) -> AttributeList {
        try AttributeList(text, line: line, limits: scope.limits)
    }

    private func checkCount() throws(StreamError) {
        guard playlist.variants.count + playlist.renditions.count < scope.limits.variants else {
            throw .tooLarge("it has more than \(scope.limits.variants) variants and renditions")
        }
    }

    /// Returns the value of an attribute with its variables substituted.
    private mutating func text(
        _ attributes: AttributeList,
        _ name: String,
        _ line: Int
    ) throws(StreamError) -> String? {
        guard let bytes = attributes[name] else { return nil }
        return try scope.text(bytes, line: line)
    }
}

// MARK: - Variants and renditions

extension MultivariantReader {
    private mutating func takeURI(_ uri: ArraySlice<UInt8>, _ line: Int) throws(StreamError) {
        guard let (attributes, tagLine) = pending else { return }
        pending = nil
        try checkCount()
        let range = try text(attributes, "VIDEO-RANGE", tagLine)
        let known = range.flatMap(StreamVariant.VideoRange.init)
        let codecs = try text(attributes, "CODECS", tagLine) ?? ""
        let resolution = attributes["RESOLUTION"].flatMap(PlaylistNumber.resolution)
        playlist.variants.append(
            StreamVariant(
                number: playlist.variants.count + 1,
                url: try scope.url(uri, line: line),
                bandwidth: attributes["BANDWIDTH"].flatMap(PlaylistNumber.integer) ?? 0,
                averageBandwidth: attributes["AVERAGE-BANDWIDTH"].flatMap(PlaylistNumber.integer),
                codecs: codecs.split(separator: ",").map { $0.filter { !$0.isWhitespace } }.filter { !$0.isEmpty },
                resolution: resolution.map { StreamVariant.Resolution(width: $0.width, height: $0.height) },
                frameRate: attributes["FRAME-RATE"].flatMap(PlaylistNumber.decimal),
                score: attributes["SCORE"].flatMap(PlaylistNumber.decimal),
                videoRange: known,
                audioGroup: try text(attributes, "AUDIO", tagLine),
                subtitlesGroup: try text(attributes, "SUBTITLES", tagLine),
                videoGroup: try text(attributes, "VIDEO", tagLine),
                stableID: try text(attributes, "STABLE-VARIANT-ID", tagLine),
                hasUnknownDemands: range != nil && known == nil || attributes.names.contains { $0.hasPrefix("REQ-") }
            )
        )
    }

    /// Takes an `EXT-X-MEDIA` tag. Ignores a tag of an unknown type or without a group, because no variant can refer to
    /// it.
    private mutating func takeRendition(_ attributes: AttributeList, _ line: Int) throws(StreamError) {
        let typeName = try text(attributes, "TYPE", line) ?? ""
        guard let type = StreamRendition.MediaType(rawValue: typeName),
            let group = try text(attributes, "GROUP-ID", line)
        else { return }
        try checkCount()
        var url: HTTPURL?
        if let uri = attributes["URI"] { url = try scope.url(uri, line: line) }
        let language = try text(attributes, "LANGUAGE", line)
        playlist.renditions.append(
            StreamRendition(
                type: type,
                group: group,
                name: try text(attributes, "NAME", line) ?? language ?? "",
                language: language,
                associatedLanguage: try text(attributes, "ASSOC-LANGUAGE", line),
                isDefault: Self.isYes(attributes["DEFAULT"]),
                isAutoselect: Self.isYes(attributes["AUTOSELECT"]),
                isForced: Self.isYes(attributes["FORCED"]),
                url: url,
                channels: try text(attributes, "CHANNELS", line),
                characteristics: try text(attributes, "CHARACTERISTICS", line),
                instreamID: try text(attributes, "INSTREAM-ID", line),
                stableID: try text(attributes, "STABLE-RENDITION-ID", line)
            )
        )
    }

    private static func isYes(_ value: ArraySlice<UInt8>?) -> Bool { value?.elementsEqual("YES".utf8) ?? false }
}
