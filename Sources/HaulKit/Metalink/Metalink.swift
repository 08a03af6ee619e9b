public import Foundation

/// What a Metalink document says about files: names, sizes, digests and where they can be had.
///
/// Reads Metalink 4 (RFC 5854, `application/metalink4+xml`) and the older Metalink 3 (`application/metalink+xml`).
public struct Metalink: Sendable, Hashable {
    /// One file, with at least one source.
    public struct File: Sendable, Hashable {
        /// A relative path, perhaps with subfolders, each part of which is safe to create.
        public var name: String
        /// Length in bytes.
        public var size: Int64?
        /// The strongest digest of the whole file among those that Haul can compute.
        public var checksum: Checksum?
        /// The strongest digests of its pieces among those that Haul can compute. They cover ``size``, where that is
        /// known.
        public var pieces: PieceHashes?
        /// `http` and `https` only, best first: by priority, then as they stand in the document. At most
        /// ``Metalink/maximumSources``, never none.
        public var sources: [Source]
    }

    /// A URL from which the whole file can be had.
    public struct Source: Sendable, Hashable, Codable {
        /// The priority of a source that names none, and the lowest there is: RFC 5854, 4.2.16.1.
        public static let lowestPriority = 999_999

        /// Absolute.
        public var url: URL {
            didSet { if url != oldValue { target = nil } }
        }
        /// How path and query of ``url`` were spelled, where it does not say so: see ``HTTPURL``.
        var target: String?
        /// 1 is the best, ``lowestPriority`` the worst.
        public var priority: Int
        /// Where the server stands: a country's ISO 3166-1 code of two letters, in lower case.
        public var location: String?

        public init(_ url: URL, priority: Int = lowestPriority, location: String? = nil) {
            self.url = url
            self.priority = priority
            self.location = location
        }

        package init(_ source: SpelledURL, priority: Int = lowestPriority) {
            self.init(source.url, priority: priority)
            target = source.target
        }

        init(_ address: HTTPURL, priority: Int = lowestPriority, location: String? = nil) {
            self.init(address.url, priority: priority, location: location)
            target = address.spelling
        }
    }

    /// Sources kept a file; those of lower priority beyond it are left out.
    public static let maximumSources = 256

    /// At least one, in the order of the document, no two with one name.
    public var files: [File]
    /// A sentence for each file that was left out and each check that was passed over, in the order of the document; no more
    /// than twenty.
    public private(set) var remarks: [String]

    /// Parses a document.
    ///
    /// Elements that Haul does not know, URLs of other schemes and digests of unknown algorithms are passed over. What
    /// is known and wrong costs no more than it must: a digest, a size or a set of pieces that cannot be read is passed over where
    /// another digest, or the digests of all pieces, still prove the whole file. Where nothing does, the file is left out: a
    /// check must not get lost by a slip of the pen. So is a file without an `http` or `https` URL, or with a name that leaves its
    /// folder. ``remarks`` says of each.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidMetalink`` for a document of which no file can be used,
    ///   that names a file twice, has a document type declaration, is larger than 16 MiB, or is neither in UTF-8 or UTF-16 nor in
    ///   an encoding of the ISO-8859 or Windows families that it declares.
    public init(_ data: Data) throws(DownloadError) {
        try self.init(data, limits: Limits())
    }

    init(_ bytes: [UInt8]) throws(DownloadError) { try self.init(Data(bytes), limits: Limits()) }

    init(_ data: Data, limits: Limits) throws(DownloadError) {
        (files, remarks) = try MetalinkParser.contents(of: try MetalinkDocument(data, limits: limits), limits: limits)
    }

    /// No document is larger.
    package static let maximumBytes = Limits().documentBytes

    /// How much of a document is put up with.
    struct Limits: Sendable, Hashable {
        var documentBytes = 16 << 20
        /// Bytes from one `<` to the next: an element's tag with its text, or a comment. The parser's time grows with
        /// the square of the number of attributes in a tag.
        var elementBytes = 64 << 10
        /// Elements within each other.
        var depth = 32
        var attributes = 64
        /// Namespaces declared in one place of the document.
        var namespaces = 64
        var files = 10_000
        /// Pieces of all files together.
        var pieces = 4_000_000
    }
}

extension DownloadError {
    package static let metalinkTooLarge = invalidMetalink("it is larger than \(Metalink.maximumBytes >> 20) MiB")

    /// - Parameter reason: a clause that ends the sentence.
    static func invalidMetalink(_ reason: String, cause: String? = nil) -> DownloadError {
        DownloadError(.invalidMetalink, "This Metalink document cannot be used: \(reason).", cause: cause)
    }
}
