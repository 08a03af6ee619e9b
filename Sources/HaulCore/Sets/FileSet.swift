public import Foundation

/// The files that a publisher names together: a release, a model, the files of a checksum list.
///
/// The names are as the publisher writes them, and are not safe to create.
public struct FileSet: Sendable, Hashable {
    /// One file of a set.
    public struct File: Sendable, Hashable {
        /// The relative path, with `/` between its parts, as the publisher writes it.
        public var name: String
        /// The URL that the file is requested from.
        public var url: URL
        /// Length in bytes; `nil` if the publisher does not state it.
        public var size: Int64?
        /// The digest that the file must have; `nil` if the publisher states none that Haul can compute.
        public var checksum: DownloadRequest.Checksum?
        /// Additional header fields of the requests for the file.
        public var headers: [HeaderField]
        /// Further sources of the file, from a Metalink.
        package var mirrors: [Metalink.Source] = []
        /// Digests of the pieces of the file, from a Metalink.
        package var pieces: PieceHashes?

        /// Makes a file of a set.
        ///
        /// - Parameters:
        ///   - name: the relative path, with `/` between its parts, as the publisher writes it.
        ///   - url: the URL that the file is requested from.
        ///   - size: length in bytes, if it is known.
        ///   - checksum: the digest that the file must have, if it is known.
        ///   - headers: additional header fields of the requests for the file.
        public init(
            name: String,
            url: URL,
            size: Int64? = nil,
            checksum: DownloadRequest.Checksum? = nil,
            headers: [HeaderField] = []
        ) {
            self.name = name
            self.url = url
            self.size = size
            self.checksum = checksum
            self.headers = headers
        }
    }

    /// The files, in the order of the publisher.
    public var files: [File]
    /// The origin of the names, for people: `hf://org/model@COMMIT`, or the URL of a list without its secrets.
    public var origin: String
    /// The version that the publisher calls these files by, such as a commit; `nil` if there is none.
    public var revision: String?
    /// The signer of the list, in the words of the program that checked the signature; `nil` for an unsigned list.
    public var signedBy: String?
    /// Names of the publisher's list that are not fetched. The set is not whole without them.
    public package(set) var refused: [RefusedName] = []
    /// Folders of the publisher whose files were not listed, each with a slash at its end, and paths of refused names.
    /// The publisher may have further files at these paths.
    package var unread: Set<String> = []
    /// The refusal of the list itself, if damaged lines hide the names of some files; `nil` otherwise. The refusal
    /// applies to every selection of files.
    package var damage: RefusedName?
    /// Remarks of Haul about the publisher's list, for people.
    public package(set) var remarks: [String] = []

    /// Makes a set.
    ///
    /// - Parameters:
    ///   - files: the files, in the order of the publisher.
    ///   - origin: the origin of the names, for people, without secrets.
    ///   - revision: the version that the publisher calls these files by.
    ///   - signedBy: the signer of the list.
    public init(files: [File], origin: String, revision: String? = nil, signedBy: String? = nil) {
        self.files = files
        self.origin = origin
        self.revision = revision
        self.signedBy = signedBy
    }

    /// Whether a name is in a folder whose files were not listed, or is that of a refused file.
    package func isUnread(_ name: String) -> Bool {
        guard !unread.isEmpty else { return false }
        if unread.contains(name) { return true }
        return name.indices.contains { name[$0] == "/" && unread.contains(String(name[...$0])) }
    }

    /// Number of names, refused ones included.
    package var names: Int { files.count + refused.count }

    /// Largest number of names in a set.
    package static let maximumNames = 1_000_000
}

/// A name of a set that is not fetched.
public struct RefusedName: Sendable, Hashable {
    /// The name as the publisher writes it. Bytes that are not UTF-8 are escaped as `\xNN`.
    public let name: String
    /// A sentence for people, without control characters.
    public let reason: String

    package init(_ name: String, _ reason: String) {
        self.name = name
        self.reason = VisibleText.line(reason)
    }
}

extension FileSet.File: Masked {
    /// The file with a masked URL and masked header fields.
    package var maskedMirror: Mirror {
        Mirror(
            masked: self,
            ["name": name, "url": url, "size": size, "checksum": checksum, "headers": headers, "mirrors": mirrors]
        )
    }
}

extension DownloadError {
    /// - Parameter reason: a clause that ends the sentence.
    package static func invalidSet(_ reason: String, cause: String? = nil) -> DownloadError {
        DownloadError(.invalidSet, "The list of files cannot be used: \(reason).", cause: cause)
    }
}
