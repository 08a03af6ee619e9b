public import Foundation

/// The URL of a file, its destination, and how to download it.
///
/// A request is `Codable`, for lists and messages of an application. Only options that differ from their defaults are
/// encoded. Absent options get their defaults when a request is decoded: a request without a URL needs the source
/// provider, and a request without a destination stores its file in the current folder.
///
/// ``url``, ``mirrorURLs``, ``page``, ``headers`` and the body of ``method`` may hold passwords and tokens. They are
/// printed masked, and encoded masked unless the encoder has ``Swift/CodingUserInfoKey/keepsSecrets``. A request that
/// was encoded masked can be decoded, but cannot download anything that needs the secrets.
public struct DownloadRequest: Sendable, Hashable, Codable {
    // Each option is declared here and read where it acts. The store keeps it without further code if its default is
    // `false`, 0, empty or `nil`: see the end of this file.

    /// Where the file is stored. Encoded as an object of one member: `{"file": path}` or `{"folder": path}`.
    public enum Destination: Sendable, Hashable {
        /// At exactly this path.
        case file(path: String)
        /// In this folder, under the name in the response (`Content-Disposition`, RFC 6266), else under
        /// ``DownloadRequest/suggestedName``, else under the name in the URL.
        case folder(path: String)

        /// At the path of a file URL. Adding a request with a URL of another scheme fails with
        /// ``DownloadError/Code/invalidDestination``.
        public static func file(_ url: URL) -> Destination { .file(path: path(of: url)) }
        /// In the folder at a file URL. Adding a request with a URL of another scheme fails with
        /// ``DownloadError/Code/invalidDestination``.
        public static func folder(_ url: URL) -> Destination { .folder(path: path(of: url)) }

        /// Returns the path of a file URL. Returns the text of any other URL, so that adding the request fails.
        private static func path(of url: URL) -> String {
            let path = url.isFileURL ? url.absoluteURL.path(percentEncoded: false) : ""
            return path.isEmpty ? url.absoluteString : path
        }
    }

    /// The HTTP method of the requests for the file. A POST is encoded as an object of two members,
    /// `{"post": BODY, "type": TYPE}`, and a GET as an empty object. The body is encoded empty unless the encoder has
    /// ``Swift/CodingUserInfoKey/keepsSecrets``.
    public enum Method: Sendable, Hashable {
        /// GET (RFC 9110 §9.3.1).
        case get
        /// POST (RFC 9110 §9.3.3), with a body of a media type such as `application/json`. The body is kept in memory
        /// and in the store. Requests with different bodies are different downloads: see
        /// ``DownloadRequest/onDuplicate``.
        ///
        /// The request is sent over one connection only, and repeated after a failure, so the server may see it several
        /// times. Received bytes are kept only if the server named the version with a strong entity tag (RFC 9110
        /// §8.8.3) and confirms the tag in its answer to a range. Otherwise an interrupted download starts over.
        ///
        /// After a redirect with status 301, 302 or 303 the request continues as a GET without the body. After one with
        /// 307 or 308 the POST is repeated at the same origin; a redirect to another origin ends the download, because
        /// that origin does not get the body. ``DownloadRequest/mirrorURLs`` are requested by GET.
        case post(body: Data, type: String)
    }

    /// An `http` or `https` URL. User info in it is sent as Basic authentication (RFC 7617), or as Digest
    /// authentication (RFC 7616) if the server asks for it, to the URL's origin only.
    ///
    /// A request without a URL (``init(key:to:)``) has the placeholder `haul-source:KEY`.
    public var url: URL {
        didSet { if url != oldValue { (target, earlierSpelling, isChosenByDocument) = (nil, nil, false) } }
    }
    /// The spelling of path and query, if ``url`` does not preserve it; otherwise `nil`. See ``HTTPURL``.
    package var target: String?
    /// The form that ``url`` had in versions of Haul that escaped existing escapes again; `nil` if that form was the
    /// same. The store may contain the earlier form.
    package var earlierSpelling: String?
    /// Whether a Metalink chose ``url``. The URL then gets no credentials that are meant for URLs which the user names.
    package var isChosenByDocument = false
    /// Status of the damaged file that a repair replaces, read after the pieces of the file were compared; `nil` for
    /// every other request.
    package var repairs: FileStatus?
    /// The finished film with gaps that the file of this request replaces; `nil` for every other request.
    package var replaces: ReplacedFilm?
    /// Other sources of the same file; see ``mirrorURLs``.
    package var mirrors: [Metalink.Source] = []
    /// Other URLs of the same file, the best first. Haul fetches from them and from ``url`` at the same time if
    /// ``checksum``, the digests of pieces in a Metalink or a digest that the server announces proves the result.
    /// Without such a proof a mirror is used only when ``url`` fails, and only after blocks of the received bytes were
    /// compared with it. Default: none. Encoded as `mirrors`.
    public var mirrorURLs: [URL] {
        get { mirrors.map(\.url) }
        set { mirrors = newValue.enumerated().map { Metalink.Source($1, priority: $0 + 1) } }
    }
    /// Where the file is stored. A relative path starts at the current folder, at the time when the request is added.
    public var destination: Destination {
        didSet { if destination != oldValue { root = nil } }
    }
    /// Folder that the file must not leave through a symbolic link, because a Metalink or a set chose the part of the
    /// path below this folder. `nil` if the user chose the whole path.
    package var root: String?
    /// The file name in a ``Destination/folder(path:)`` if the response names none (`Content-Disposition`), used
    /// instead of the name in the URL. Default: `nil`.
    ///
    /// The name is made safe like every other name; a slash becomes an underscore. A name without an extension gets the
    /// extension of the response's media type, if that type has one (`video/mp4`: `.mp4`).
    public var suggestedName: String?
    /// Whether ``suggestedName`` is the name in the URL with a number from ``BatchFileNames``.
    package var isNameNumbered = false
    /// The HTTP method of the requests for the file. Default: ``Method/get``.
    public var method = Method.get
    /// Header fields for the URL's own origin; a redirect to another origin drops all of them. Default: none. Fields
    /// that Haul sets itself are ignored: `Range`, `If-Range`, `If-Match`, `If-Unmodified-Since`, `Accept-Encoding`,
    /// `Proxy-Authorization`, and those of framing and connection (`Content-Length`, `Transfer-Encoding`, `Connection`,
    /// `TE`, `Upgrade`).
    public var headers: [HeaderField] = []
    /// The digest that the finished file must have; a file with another digest does not get the final name. Default:
    /// `nil`.
    public var checksum: DownloadRequest.Checksum?
    /// The digests of the file's pieces, which a Metalink lists. Each piece is checked when it is complete, and only a
    /// wrong piece is fetched again. Default: `nil`.
    package var pieces: PieceHashes?
    /// Length of the file in bytes, if it is known beforehand; a source with another length is not used. Default:
    /// `nil`.
    public var size: Int64?
    /// Speed limit in bytes per second. `nil`, 0 or a negative number: no limit but that of the downloader. Default:
    /// `nil`. ``Download/setSpeedLimit(_:)`` changes the limit later.
    public var bytesPerSecond: Int64?
    /// Largest number of connections of this download, 1 … 64; another number counts as the nearest of these. `nil`,
    /// the default: ``Downloader/Configuration/Connections/maxPerDownload``.
    /// ``Downloader/Configuration/Connections/maxPerHost`` applies as well.
    public var maxConnections: Int?
    /// Number of connections that this download opens at its start, without measuring: 1 … 64, and at most
    /// ``maxConnections``. If the host refuses that many, the download uses fewer. `nil`, the default:
    /// ``Downloader/Configuration/Connections/initial``.
    package var initialConnections: Int?
    /// Reaction to a final name that is taken. `nil`, the default: ``ConflictPolicy/fail`` for
    /// ``Destination/file(path:)``, ``ConflictPolicy/rename`` for ``Destination/folder(path:)``.
    public var onConflict: ConflictPolicy?
    /// Whether the download ends with ``DownloadError/Code/contentChanged`` instead of starting over when the URL has
    /// another version of the file. Default: `false`.
    public var failsOnChange = false
    /// Whether to resume a file whose responses name no version (neither `ETag` nor `Last-Modified`). The length and
    /// blocks from all over the partial file must then agree with the server's. With `false`, the default, such a file
    /// starts over unless a checksum proves the result.
    public var resumesUnverified = false
    /// The kind of unfinished file of another program that the download continues, if such a file has the download's
    /// name. `nil`, the default: none. In a ``Destination/folder(path:)`` the name is ``suggestedName``, or else that
    /// of the URL.
    ///
    /// Nothing proves that the other program wrote the right bytes, so blocks of them are compared with the server's
    /// bytes before any byte is added. The length in the control file must equal the server's. Sixteen blocks of 16 KiB
    /// are compared: the first block, one at a random place in each of fourteen equal parts of the rest, and the last
    /// block before the first missing byte. A file of up to 240 KiB is compared completely. A wrong byte elsewhere is
    /// not found, unless ``checksum`` or digests of pieces prove the result. A complete file is compared in the same
    /// way, and nothing more is fetched.
    ///
    /// While the download runs, the file is called `NAME.haulpart`, like every unfinished file. If the comparison
    /// fails, or the server does not answer, the file gets its own name back, unchanged, and the download ends with an
    /// error. The error is ``DownloadError/Code/contentChanged`` if the server has another file or cannot send a part
    /// of it. With ``ConflictPolicy/overwrite``, another file of the server replaces the unfinished one instead. If the
    /// download is cancelled, the file gets its name back, with the added bytes. The control file is removed once the
    /// file is complete.
    ///
    /// A file that another process has open for writing is refused with ``DownloadError/Code/inUse``. Haul can detect
    /// such a process only for local files on Linux. Haul cannot detect a program that has closed the file and means to
    /// continue it.
    public var adopts: Adoption?
    /// Whether the finished file gets the modification time that the server reports (`Last-Modified`). Default:
    /// `false`.
    public var setsModificationTime = false
    /// Treatment of a URL that leads to a playlist of HTTP Live Streaming. Default: `nil`, which means
    /// ``Stream/init()``: the film that the playlist lists is the file.
    public var stream: Stream?
    /// Whether redirects from https to http are followed. With `false`, the default, they end the download with
    /// ``DownloadError/Code/insecureRedirect``.
    public var allowsInsecureRedirects = false

    /// The application's own name for the download, independent of its URL: a course and a lesson, for example. Unique
    /// in a downloader. Default: `nil`.
    ///
    /// Adding the key again with another ``destination`` moves the download: its file is stored at the new place from
    /// then on. A finished file is fetched again into the new place, and the old file is kept. An unfinished file keeps
    /// its bytes. Adding fails with ``DownloadError/Code/inUse`` while the download runs, and with
    /// ``DownloadError/Code/alreadyAdded`` if the new place of an unfinished file is on another file system.
    public var key: String?
    /// Name of the download's group. A group has its own progress and end: see ``DownloadGroup``. Default: `nil`.
    public var group: String?
    /// A label to query by, such as the user of the application who owns the download. A request with an owner joins
    /// only downloads of the same owner: for the download of another one, adding fails with
    /// ``DownloadError/Code/alreadyAdded``. A request without an owner joins any download. Default: `nil`.
    public var owner: String?
    /// The application's own data, stored with the download. Haul does not interpret it. Default: `nil`.
    public var metadata: DownloadRequest.Metadata?
    /// The web page on which the user found ``url``, and finds a fresh link when ``url`` has expired. Haul never
    /// requests the page. Default: `nil`.
    package var page: URL?
    /// Downloads of higher priority start first, those of equal priority in the order of the queue. Default: 0.
    public var priority = 0
    /// Whether a new download begins paused: nothing is requested from its server before it is resumed. A download that
    /// the downloader already has stays as it is. Default: `false`.
    public var startsPaused = false
    /// Reaction to a download that the downloader already has. Default: ``PresencePolicy/join``.
    public var onDuplicate = PresencePolicy.join

    /// Makes a request for the file at a URL. The URL is checked when the request is added.
    public init(_ url: URL, to destination: Destination) {
        self.url = url
        self.destination = destination
    }

    /// Makes a request for a URL, with the original spelling of the URL.
    package init(_ spelled: SpelledURL, to destination: Destination) {
        self.init(spelled.url, to: destination)
        (target, earlierSpelling) = (spelled.target, spelled.earlierSpelling)
    }

    /// Makes a request without a URL. When the download first gets a slot,
    /// ``Downloader/Configuration/Sources/provider`` is called for a URL.
    ///
    /// - Parameters:
    ///   - key: the application's own name for the download, see ``key``. Requests with the same key refer to the same
    ///     download.
    ///   - destination: where the file is stored.
    public init(key: String, to destination: Destination) {
        self.init(Self.placeholder(key), to: destination)
        self.key = key
    }

    /// Whether the request has no URL yet; see ``init(key:to:)``.
    package var needsSource: Bool { Self.isPlaceholder(url) }

    /// Makes a request for a file of a Metalink, with the sources, digests and size of the file. The file is stored
    /// under its own name in a folder. A taken name gets a number (``ConflictPolicy/rename``).
    public init(_ file: Metalink.File, into folder: String) {
        // A parsed file has at least one source. For a file without a source, this file URL makes adding the request
        // fail.
        self.init(
            file.sources.first?.url ?? URL(fileURLWithPath: "/"),
            to: .file(path: FilePaths.join(folder, file.name))
        )
        target = file.sources.first?.target
        isChosenByDocument = true
        root = folder
        mirrors = Array(file.sources.dropFirst())
        checksum = file.checksum
        pieces = file.pieces
        size = file.size
        onConflict = .rename
    }

    package var conflictPolicy: ConflictPolicy {
        if let onConflict { return onConflict }
        return if case .file = destination { .fail } else { .rename }
    }
}

// MARK: Requests without a URL

extension DownloadRequest {
    static let placeholderScheme = "haul-source"

    package static func isPlaceholder(_ url: URL) -> Bool { url.scheme == placeholderScheme }

    private static func placeholder(_ key: String) -> URL {
        // The fallback URL is never used: `URL(string:)` accepts every text of `plain` characters and percent signs.
        let name = key.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
        return URL(string: "\(placeholderScheme):\(name)") ?? URL(fileURLWithPath: "/")
    }

    private static let plain = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    )
}

// MARK: Encoding

extension DownloadRequest {
    /// A request without a URL, in which every option has its default.
    package static let blank = DownloadRequest(placeholder(""), to: .folder(path: ""))
}

// The compiler writes `init(from:)` and `encode(to:)` of the request. They call the functions below, which only this
// file sees, for properties of these types. An absent value is decoded as its default, so that a request of an earlier
// version can be read. A default is not encoded.

extension KeyedDecodingContainer {
    fileprivate func decode(_ type: URL.Type, forKey key: Key) throws -> URL {
        try decodeIfPresent(CodedURL.self, forKey: key)?.url ?? DownloadRequest.blank.url
    }

    fileprivate func decodeIfPresent(_ type: URL.Type, forKey key: Key) throws -> URL? {
        try decodeIfPresent(CodedURL.self, forKey: key)?.url
    }

    fileprivate func decode(_ type: DownloadRequest.Destination.Type, forKey key: Key) throws
        -> DownloadRequest.Destination
    {
        try decodeIfPresent(type, forKey: key) ?? DownloadRequest.blank.destination
    }

    fileprivate func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        try decodeIfPresent(type, forKey: key) ?? false
    }

    fileprivate func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
        try decodeIfPresent(type, forKey: key) ?? 0
    }

    fileprivate func decode<Element: Decodable>(_ type: [Element].Type, forKey key: Key) throws -> [Element] {
        try decodeIfPresent(type, forKey: key) ?? []
    }

    fileprivate func decode(_ type: DownloadRequest.Method.Type, forKey key: Key) throws -> DownloadRequest.Method {
        try decodeIfPresent(type, forKey: key) ?? .get
    }

    fileprivate func decode(_ type: DownloadRequest.PresencePolicy.Type, forKey key: Key) throws
        -> DownloadRequest.PresencePolicy
    {
        try decodeIfPresent(type, forKey: key) ?? DownloadRequest.blank.onDuplicate
    }
}

extension KeyedEncodingContainer {
    fileprivate mutating func encode(_ url: URL, forKey key: Key) throws {
        try encodeIfPresent(url == DownloadRequest.blank.url ? nil : CodedURL(url), forKey: key)
    }

    fileprivate mutating func encodeIfPresent(_ url: URL?, forKey key: Key) throws {
        try encodeIfPresent(url.map { CodedURL($0) }, forKey: key)
    }

    /// Encodes the two spellings of the URL as `CodedSpelling`, since they may hold secrets, and other texts as they
    /// are.
    fileprivate mutating func encodeIfPresent(_ text: String?, forKey key: Key) throws {
        guard let text else { return }
        if ["target", "earlierSpelling"].contains(key.stringValue) {
            try encode(CodedSpelling(text: text), forKey: key)
        } else {
            try encode(text, forKey: key)
        }
    }

    fileprivate mutating func encode(_ destination: DownloadRequest.Destination, forKey key: Key) throws {
        try encodeIfPresent(destination == DownloadRequest.blank.destination ? nil : destination, forKey: key)
    }

    fileprivate mutating func encode(_ flag: Bool, forKey key: Key) throws {
        try encodeIfPresent(flag ? true : nil, forKey: key)
    }

    fileprivate mutating func encode(_ number: Int, forKey key: Key) throws {
        try encodeIfPresent(number == 0 ? nil : number, forKey: key)
    }

    fileprivate mutating func encode<Element: Encodable>(_ list: [Element], forKey key: Key) throws {
        try encodeIfPresent(list.isEmpty ? nil : list, forKey: key)
    }

    fileprivate mutating func encode(_ method: DownloadRequest.Method, forKey key: Key) throws {
        try encodeIfPresent(method == .get ? nil : method, forKey: key)
    }

    fileprivate mutating func encode(_ policy: DownloadRequest.PresencePolicy, forKey key: Key) throws {
        try encodeIfPresent(policy == DownloadRequest.blank.onDuplicate ? nil : policy, forKey: key)
    }
}
