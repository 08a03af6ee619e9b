public import Foundation

/// The URL of a file, its destination, and how to download it.
///
/// `Codable` for lists and messages of an application. Only options that differ from their defaults are encoded, and what
/// is absent has its default when a request is decoded: without a URL it is a request for the source provider, without a
/// destination one for the current folder. ``url``, ``mirrors``, ``headers`` and the body of ``method`` may hold passwords
/// and tokens: they are printed masked, and encoded masked unless the encoder has ``Swift/CodingUserInfoKey/keepsSecrets``.
/// A request that was encoded masked can be decoded, and downloads nothing that needs the secrets.
public struct DownloadRequest: Sendable, Hashable, Codable {
    // An option is declared here and used where it acts; the store keeps it without further code. Its default is false,
    // 0, empty or nil: see the end of this file.

    /// Where the file is stored. Encoded as an object of one member: `{"file": path}` or `{"folder": path}`.
    public enum Destination: Sendable, Hashable {
        /// At exactly this path.
        case file(path: String)
        /// In this folder, under a name taken from the response: `Content-Disposition` (RFC 6266), else the URL.
        case folder(path: String)

        /// At exactly the place of a file URL. Adding a request with a URL of another scheme fails with
        /// ``DownloadError/Code/invalidDestination``.
        public static func file(_ url: URL) -> Destination { .file(path: path(of: url)) }
        /// In the folder of a file URL. Adding a request with a URL of another scheme fails with
        /// ``DownloadError/Code/invalidDestination``.
        public static func folder(_ url: URL) -> Destination { .folder(path: path(of: url)) }

        /// The path of a file URL. Another URL stays as it is, and adding the request refuses it.
        private static func path(of url: URL) -> String {
            let path = url.isFileURL ? url.absoluteURL.path(percentEncoded: false) : ""
            return path.isEmpty ? url.absoluteString : path
        }
    }

    /// How the server is asked for the file.
    public enum Method: Sendable, Hashable {
        /// By GET (RFC 9110 §9.3.1).
        case get
        /// By POST (RFC 9110 §9.3.3), with a body of a media type such as `application/json`. The body is kept in memory and in
        /// the store.
        ///
        /// The server may see the request several times: after a failure it is repeated, and over one connection alone. What has
        /// been received is kept only where the server named the version with a strong entity tag (RFC 9110 §8.8.3) and
        /// confirms it in its answer to a range; otherwise an interrupted download starts over. A redirect with status 301, 302
        /// or 303 continues as a GET without the body; one with 307 or 308 repeats the POST at the same origin, and ends the
        /// download where it leads to another one, which does not get the body. ``DownloadRequest/mirrors`` are asked by GET.
        /// Requests with another body are other downloads: see ``DownloadRequest/onDuplicate``.
        case post(body: Data, type: String)
    }

    /// What to do when the final name is taken. Without ``overwrite`` nothing is ever replaced.
    public enum ConflictPolicy: String, Sendable, Hashable, Codable, CaseIterable {
        /// End with ``DownloadError/Code/fileExists``.
        case fail
        /// Use the next free name: `name (1).ext`.
        case rename
        /// Replace the existing file, once the new file is complete and verified.
        case overwrite
        /// Keep the existing file and complete the download with it. With ``DownloadRequest/checksum``, the existing
        /// file must have that digest; otherwise the download ends with ``DownloadError/Code/checksumMismatch``.
        case skip
    }

    /// What to do when the downloader already has the download: a download with the same ``key``, whatever its
    /// destination; without a key, a download to the same named file, or of the same URL into the same folder.
    public enum PresencePolicy: String, Sendable, Hashable, Codable, CaseIterable {
        /// Continue the existing download and return its handle.
        case join
        /// As ``join``, but a download that the user has paused stays paused, with all that it says: for a catalogue that the
        /// application adds at each launch.
        case joinUnlessPaused
        /// Fail with ``DownloadError/Code/alreadyAdded``.
        case refuse
        /// Add another download, which gets another name. Keys and named files are unique: a request with either is
        /// refused.
        case addAnyway
    }

    /// An `http` or `https` URL. User info in it is sent as Basic authentication (RFC 7617), to its origin only.
    ///
    /// For a request without a URL (``init(key:to:)``) a placeholder, `haul-source:KEY`.
    public var url: URL {
        didSet { if url != oldValue { (target, earlierSpelling, isChosenByDocument) = (nil, nil, false) } }
    }
    /// How path and query of ``url`` were spelled, where the URL does not preserve it: see ``HTTPURL``.
    var target: String?
    /// The form of ``url`` in versions of Haul that escaped existing escapes again: the store may contain it.
    var earlierSpelling: String?
    /// A Metalink chose ``url``: it gets no credentials that are meant for URLs which the user names.
    var isChosenByDocument = false
    /// The damaged file that a repair replaces, as it was when its pieces were compared.
    var repairs: FileStatus?
    /// Other URLs of the same file. They bring bytes beside ``url`` where ``checksum``, ``pieces`` or a digest that the server
    /// announces proves the result. Without one they are asked when ``url`` fails, and blocks of the received bytes are compared first.
    public var mirrors: [Metalink.Source] = []
    /// Where the file is stored. A relative path starts at the current folder, at the time when the request is added.
    public var destination: Destination {
        didSet { if destination != oldValue { root = nil } }
    }
    /// The folder that the file must not leave through a symbolic link: a Metalink chose the part of ``destination``
    /// below it.
    var root: String?
    /// With ``Destination/folder(path:)``: the file name if the response has none (`Content-Disposition`), in place of
    /// the name in the URL. Made safe like every other name; a slash becomes an underscore, and a name without an extension
    /// gets that of the response's type where the type has one (`video/mp4`: `.mp4`).
    public var suggestedName: String?
    /// ``suggestedName`` is the URL's own name with a number from ``BatchFileNames``.
    var isNameNumbered = false
    /// How the file is asked for. Default: ``Method/get``.
    public var method = Method.get
    /// Header fields for the URL's own origin; a redirect to another origin drops all of them. Fields that Haul sets
    /// itself are ignored: `Range`, `If-Range`, `If-Match`, `If-Unmodified-Since`, `Accept-Encoding`,
    /// `Proxy-Authorization`, and those of framing and connection (`Content-Length`, `Transfer-Encoding`, `Connection`,
    /// `TE`, `Upgrade`).
    public var headers: [HeaderField] = []
    /// The digest that the finished file must have; a file with another digest does not get the final name.
    public var checksum: DownloadRequest.Checksum?
    /// The digests of the file's pieces: each piece is checked when it is complete, and only a wrong piece is fetched
    /// again.
    public var pieces: PieceHashes?
    /// Length of the file in bytes, if known beforehand; a source with another length is not used.
    public var size: Int64?
    /// Speed limit in bytes per second; `nil`, 0 or a negative number for no limit but the downloader's.
    /// ``Download/setSpeedLimit(_:)`` changes it later.
    public var bytesPerSecond: Int64?
    /// Largest number of connections of this download, in place of
    /// ``Downloader/Configuration/Connections/maxPerDownload``: 1 … 64; another number counts as the nearest of these.
    /// ``Downloader/Configuration/Connections/maxPerHost`` applies as well. `nil`: the configuration's.
    public var maxConnections: Int?
    /// Number of connections that this download opens at its start, without measuring, in place of
    /// ``Downloader/Configuration/Connections/initial``; 1 … 64 and at most ``maxConnections``. It is given up to where the
    /// host refuses that many. `nil`: the configuration's.
    public var initialConnections: Int?
    /// What to do when the final name is taken. `nil`: ``ConflictPolicy/fail`` for ``Destination/file(path:)``,
    /// ``ConflictPolicy/rename`` for ``Destination/folder(path:)``.
    public var onConflict: ConflictPolicy?
    /// Whether the download ends with ``DownloadError/Code/contentChanged`` instead of starting over when the URL has
    /// another version of the file. Default: `false`.
    public var failsOnChange = false
    /// Whether to resume a file whose responses name no version (neither ETag nor Last-Modified), if its length agrees
    /// and blocks from all over the partial file do. Otherwise such a file starts over, unless a checksum proves the
    /// result. Default: `false`.
    public var resumesUnverified = false
    /// The unfinished file of another program that the download continues, if it stands under the download's name; `nil`, the
    /// default: none. In a ``Destination/folder(path:)`` the name is ``suggestedName`` or that of the URL.
    ///
    /// What the other program has written is not known to be right. Before a byte is joined to it, the length that its control
    /// file names must be the server's, and blocks of 16 KiB are compared with the server's: the first, one at a place drawn by
    /// lot in each of fourteen equal parts of the rest, and the last before the first missing byte; up to 240 KiB, all of it. A
    /// wrong byte elsewhere is not found, unless ``checksum`` or ``pieces`` prove the result. A complete file is compared in
    /// the same way, and nothing more is fetched.
    ///
    /// While the download runs the file is called `NAME.haulpart`, like every unfinished file. If the comparison fails, or the
    /// server cannot be asked, it has its own name again, with nothing changed in it, and the download ends with an error,
    /// which is ``DownloadError/Code/contentChanged`` where the server has another file or cannot send a part of it. With
    /// ``ConflictPolicy/overwrite`` another file of the server's replaces it instead. Cancelling the download gives the file its
    /// name again, with what was added. The control file is removed once the file is complete.
    ///
    /// A file that another process has open for writing is refused with ``DownloadError/Code/inUse``. That is known of local
    /// files on Linux only; a program that has closed the file and means to continue is never known.
    public var adopts: Adoption?
    /// Whether the finished file gets the modification time that the server reports (`Last-Modified`). Default:
    /// `false`.
    public var setsModificationTime = false
    /// Whether redirects from https to http are followed. Otherwise they end the download with
    /// ``DownloadError/Code/insecureRedirect``. Default: `false`.
    public var allowsInsecureRedirects = false

    /// The application's own name for the download, independent of its URL: a course and a lesson, for example. Unique
    /// in a downloader.
    ///
    /// Adding the key again with another ``destination`` moves the download: its file is stored at the new place from
    /// then on. A finished file is fetched again into the new place, and the old file is kept. An unfinished file keeps
    /// its bytes; while the download runs, adding fails with ``DownloadError/Code/inUse``, and if the new place is on
    /// another file system, with ``DownloadError/Code/alreadyAdded``.
    public var key: String?
    /// Name of a group of downloads, which has a progress and an end of its own: see ``DownloadGroup``.
    public var group: String?
    /// A label to query by, such as the user of the application whose download it is. Haul does not interpret it.
    public var owner: String?
    /// The application's own data, stored with the download. Haul does not interpret it.
    public var metadata: DownloadRequest.Metadata?
    /// Higher starts first; downloads of equal priority start in the order of the queue. Default: 0.
    public var priority = 0
    /// Whether a new download begins paused: nothing is asked of its server before it is resumed. One that the downloader has
    /// already stays as it is. Default: `false`.
    public var startsPaused = false
    /// What to do when the downloader already has this download. Default: ``PresencePolicy/join``.
    public var onDuplicate = PresencePolicy.join

    /// A request for the file at a URL. The URL is checked when the request is added.
    public init(_ url: URL, to destination: Destination) {
        self.url = url
        self.destination = destination
    }

    /// A request for a URL that preserves its original spelling.
    package init(_ spelled: SpelledURL, to destination: Destination) {
        self.init(spelled.url, to: destination)
        (target, earlierSpelling) = (spelled.target, spelled.earlierSpelling)
    }

    /// A request without a URL: ``Downloader/Configuration/Sources/provider`` is called for a URL when the download first gets a
    /// slot.
    ///
    /// - Parameters:
    ///   - key: the application's own name for the download, see ``key``. The same key is the same download.
    ///   - destination: where the file is stored.
    public init(key: String, to destination: Destination) {
        self.init(Self.placeholder(key), to: destination)
        self.key = key
    }

    /// Whether the request has no URL yet; see ``init(key:to:)``.
    public var needsSource: Bool { Self.isPlaceholder(url) }

    /// A request for a file of a Metalink, stored under its name in a folder, with its sources, digests and size. A
    /// taken name gets a number (``ConflictPolicy/rename``).
    public init(_ file: Metalink.File, into folder: String) {
        // A parsed file has at least one source; without any the URL says nothing, and adding the request says so.
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

    var conflictPolicy: ConflictPolicy {
        if let onConflict { return onConflict }
        return if case .file = destination { .fail } else { .rename }
    }
}

// MARK: Requests without a URL

extension DownloadRequest {
    static let placeholderScheme = "haul-source"

    static func isPlaceholder(_ url: URL) -> Bool { url.scheme == placeholderScheme }

    private static func placeholder(_ key: String) -> URL {
        // Of letters, digits and percent signs a URL can always be made.
        let name = key.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
        return URL(string: "\(placeholderScheme):\(name)") ?? URL(fileURLWithPath: "/")
    }

    private static let plain = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    )
}

// MARK: Encoding

extension DownloadRequest.Destination: Codable {
    private enum CodingKeys: String, CodingKey { case file, folder }

    /// Decodes what ``encode(to:)`` wrote.
    ///
    /// - Throws: `DecodingError`, also when there is neither a file nor a folder, or both.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let file = try values.decodeIfPresent(String.self, forKey: .file)
        switch (file, try values.decodeIfPresent(String.self, forKey: .folder)) {
        case (let path?, nil): self = .file(path: path)
        case (nil, let path?): self = .folder(path: path)
        default:
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "A destination is a file or a folder.")
            )
        }
    }

    /// Encodes the path as `file` or `folder`.
    ///
    /// - Throws: `EncodingError`.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .file(let path): try values.encode(path, forKey: .file)
        case .folder(let path): try values.encode(path, forKey: .folder)
        }
    }
}

extension DownloadRequest.Method: Codable {
    private enum CodingKeys: String, CodingKey { case post, type }

    /// Decodes what ``encode(to:)`` wrote.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        guard let body = try values.decodeIfPresent(Data.self, forKey: .post) else {
            self = .get
            return
        }
        self = .post(body: body, type: try values.decode(String.self, forKey: .type))
    }

    /// Encodes a POST as an object of two members, `{"post": BODY, "type": TYPE}`, and a GET as an empty object. Without
    /// ``Swift/CodingUserInfoKey/keepsSecrets`` the body is empty.
    ///
    /// - Throws: `EncodingError`.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        guard case .post(let body, let type) = self else { return }
        try values.encode(encoder.keepsSecrets ? body : Data(), forKey: .post)
        try values.encode(type, forKey: .type)
    }
}

extension DownloadRequest {
    /// A request that says nothing.
    static let blank = DownloadRequest(placeholder(""), to: .folder(path: ""))
}

// The compiler writes `init(from:)` and `encode(to:)` of the request. The functions below take the place of the ones that
// it would call for properties that are not optional: what is absent has its default, so that a request of an earlier
// version can be read, and a default is not written. They are seen in this file only.

extension KeyedDecodingContainer {
    fileprivate func decode(_ type: URL.Type, forKey key: Key) throws -> URL {
        try decodeIfPresent(CodedURL.self, forKey: key)?.url ?? DownloadRequest.blank.url
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

    /// Two of the texts say how the URL was spelled.
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
