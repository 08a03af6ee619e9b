public import Foundation

/// What is to be downloaded, and where to.
public struct DownloadRequest: Sendable, Hashable {
    /// Where the file goes.
    public enum Destination: Sendable, Hashable {
        /// Under exactly this name.
        case file(path: String)
        /// Into this folder, under a name taken from the answer: `Content-Disposition`, else the URL.
        case folder(path: String)
    }

    /// What to do when something stands at the final name already. Nothing is ever overwritten unasked.
    public enum ConflictPolicy: String, Sendable, Hashable, Codable, CaseIterable {
        /// End with ``DownloadError/Code/fileExists``.
        case fail
        /// Take the next free name: `name (1).ext`.
        case rename
        /// Replace it, once the new file is complete and verified.
        case overwrite
        /// Leave it, and count the download as done.
        case skip
    }

    /// What becomes of a request for what is there already: the same ``key``, wherever it is to go, or else the same named file,
    /// or the same URL into the same folder.
    public enum PresencePolicy: String, Sendable, Hashable, Codable, CaseIterable {
        /// Go on with the one that is there, and return it.
        case join
        /// Fail with ``DownloadError/Code/alreadyAdded``.
        case refuse
        /// Add another one, which gets another name. Keys and named files are unique: with those it is refused.
        case addAnyway
    }

    /// An `http` or `https` URL. User info in it is sent as Basic authentication, to its origin only.
    ///
    /// Of a request that was made without a URL (``init(key:to:)``) a placeholder, `haul-source:KEY`.
    public var url: URL {
        didSet { if url != oldValue { (target, earlierSpelling, isChosenByDocument) = (nil, nil, false) } }
    }
    /// How path and query of ``url`` were spelled, where it does not say so: see ``HTTPURL``.
    var target: String?
    /// What ``url`` was called by versions of Haul that escaped what was escaped already: the store may know it by that.
    var earlierSpelling: String?
    /// A Metalink chose ``url``: it gets no credentials that were meant for whatever the user names.
    var isChosenByDocument = false
    /// Other URLs of the same file. Bytes of several sources are joined only where they agree on a strong entity tag, or
    /// where ``checksum``, ``pieces`` or a digest that the server announces proves the result.
    public var mirrors: [Metalink.Source] = []
    public var destination: Destination {
        didSet { if destination != oldValue { root = nil } }
    }
    /// The folder that the file must not leave by a symbolic link: what lies below it in ``destination``, a Metalink chose.
    var root: String?
    /// For ``Destination/folder(path:)``: the file's name where the answer says none (`Content-Disposition`), in place of the
    /// one in the URL. Made safe like any other; a title is no path, so that a slash in it becomes an underscore.
    public var suggestedName: String?
    /// ``suggestedName`` is the URL's own with a number, given by ``BatchFileNames``.
    var isNameNumbered = false
    /// Sent to the URL's own origin; a redirect to another origin drops them all. `Range`, `If-Range`,
    /// `Accept-Encoding` and fields of the connection are Haul's and are ignored here.
    public var headers: [HeaderField] = []
    /// What the finished file must be; nothing else is put under the final name.
    public var checksum: Checksum?
    /// What the pieces of the file must be: each is checked as soon as it is here, and only a wrong one is fetched again.
    public var pieces: PieceHashes?
    /// The file's size in bytes, where it is known beforehand; a source with another size is not used.
    public var size: Int64?
    /// Most bytes a second; nil for no limit but the downloader's. ``Download/setSpeedLimit(_:)`` changes it later.
    public var bytesPerSecond: Int64?
    /// The partial file is a file of the user's.
    var isRepair = false
    /// Nil: fail for ``Destination/file(path:)``, rename for ``Destination/folder(path:)``.
    public var onConflict: ConflictPolicy?
    /// Ends with ``DownloadError/Code/contentChanged`` instead of starting over when another version stands at the URL.
    public var failsOnChange = false
    /// Continues a file of which an answer names no version (neither ETag nor Last-Modified), if its length agrees and blocks
    /// from all over what is on disk do. Without this, and without a checksum that proves the result, such a file is fetched anew.
    public var resumesUnverified = false
    /// Gives the finished file the time that the server says it was last changed.
    public var setsModificationTime = false
    /// Follows redirects from https to http.
    public var allowsInsecureRedirects = false

    /// The application's own name for the download, whatever its URL is: a course and a lesson, say. Unique in a downloader.
    ///
    /// Added again with another ``destination`` it is the same download, and its file goes to the new place from then on. A
    /// finished file is fetched again into it, and the one at the old place is left alone. An unfinished one keeps its bytes;
    /// while it runs, adding fails with ``DownloadError/Code/inUse``, and where the new place is on another file system with
    /// ``DownloadError/Code/alreadyAdded``.
    public var key: String?
    /// The name of a group, which has a progress and an end of its own.
    public var group: String?
    /// The user of the application whose download it is: a label to ask by.
    public var owner: String?
    public var metadata: Metadata?
    /// Higher goes first; downloads of the same priority go in their order.
    public var priority = 0
    /// What to do when the downloader has this download already.
    public var onDuplicate = PresencePolicy.join

    public init(_ url: URL, to destination: Destination) {
        self.url = url
        self.destination = destination
    }

    /// A file at a URL as somebody spelled it.
    package init(_ spelled: SpelledURL, to destination: Destination) {
        self.init(spelled.url, to: destination)
        (target, earlierSpelling) = (spelled.target, spelled.earlierSpelling)
    }

    /// A file whose URL ``Configuration/sourceProvider`` is asked for when the download first gets its slot.
    ///
    /// - Parameter key: the application's own name for the download, see ``key``. The same key is the same download.
    public init(key: String, to destination: Destination) {
        self.init(Self.placeholder(key), to: destination)
        self.key = key
    }

    /// Made without a URL; see ``init(key:to:)``.
    public var needsSource: Bool { Self.isPlaceholder(url) }

    /// What a Metalink says of a file, to go under its name into a folder.
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
    private static let placeholderScheme = "haul-source"

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
