public import Foundation

/// The files that a Metalink document describes: names, sizes, digests and sources.
///
/// Reads Metalink 4 (RFC 5854, `application/metalink4+xml`) and the older Metalink 3 (`application/metalink+xml`).
public struct Metalink: Sendable, Hashable {
    /// One file, with at least one source.
    public struct File: Sendable, Hashable {
        /// A relative path, perhaps with subfolders. Each part of the path is safe to create.
        public var name: String
        /// Length in bytes; `nil` when the document does not state it.
        public var size: Int64?
        /// The strongest digest of the whole file among those that Haul can compute; `nil` if the document has none.
        package var checksum: DownloadRequest.Checksum?
        /// The strongest piece digests among those that Haul can compute; `nil` if the document has none. If ``size``
        /// is known, they cover the whole file.
        package var pieces: PieceHashes?
        /// `http` and `https` only, best first: by priority, then in the order of the document. At least one, at most
        /// 256.
        package var sources: [Source]

        package init(
            name: String,
            size: Int64? = nil,
            checksum: DownloadRequest.Checksum? = nil,
            pieces: PieceHashes? = nil,
            sources: [Source]
        ) {
            self.name = name
            self.size = size
            self.checksum = checksum
            self.pieces = pieces
            self.sources = sources
        }
    }

    /// Largest number of sources kept for a file; those of lower priority are dropped.
    package static let maximumSources = 256

    /// At least one file, in the order of the document; names are unique.
    public var files: [File]
    /// One sentence for each file that was left out and each check that was ignored, in the order of the document; at
    /// most 20.
    public private(set) var remarks: [String]
    /// The files that were left out, each with a sentence like those of ``remarks``. Not limited to 20.
    package private(set) var leftOut: [RefusedName]

    /// Parses a document.
    ///
    /// Unknown elements, URLs of other schemes and digests of unknown algorithms are ignored. A known but invalid
    /// element (a digest, a size, a set of pieces) is ignored if another digest, or the digests of all pieces, still
    /// prove the whole file. Otherwise the file is left out, so that a mistake in the document removes no check. A file
    /// without an `http` or `https` URL, or with a name that leaves its folder, is also left out. ``remarks`` lists the
    /// ignored invalid elements and the files left out.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidMetalink`` for a document that describes no
    ///   usable file, names a file twice, is not well-formed, has a document type declaration, is larger than 16 MiB,
    ///   or has an unsupported encoding. UTF-8 and UTF-16 are supported. If the document declares them, so are ASCII,
    ///   the ISO-8859 and Windows families, EUC-JP, Shift_JIS and EUC-KR.
    public init(_ data: Data) throws(DownloadError) {
        try self.init(data, limits: Limits())
    }

    package init(_ bytes: [UInt8]) throws(DownloadError) { try self.init(Data(bytes), limits: Limits()) }

    package init(_ data: Data, limits: Limits) throws(DownloadError) {
        let contents = try MetalinkParser.contents(of: try MetalinkDocument(data, limits: limits), limits: limits)
        (files, remarks, leftOut) = (contents.files, contents.remarks, contents.leftOut)
    }

    /// The result of parsing a document: the values of the properties of ``Metalink``.
    struct Contents {
        let files: [File]
        let remarks: [String]
        let leftOut: [RefusedName]
    }

    /// Largest size of a document, in bytes.
    package static let maximumBytes = Limits().documentBytes

    /// Bounds on the parts of a document.
    package struct Limits: Sendable, Hashable {

        package init() {}
        var documentBytes = 16 << 20
        /// Bytes from one `<` to the next: an element's tag with its text, or a comment. The parser's time grows with
        /// the square of the number of attributes in a tag.
        var elementBytes = 64 << 10
        /// Nesting depth of elements.
        package var depth = 32
        package var attributes = 64
        /// Namespace declarations in scope at one time.
        var namespaces = 64
        package var files = 10_000
        /// Pieces of all files together.
        package var pieces = 4_000_000
    }
}
