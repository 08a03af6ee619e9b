public import Foundation

/// A set of a kind that Haul can list. Make one with ``SetSource/hub(_:revision:endpoint:token:)`` or with another
/// static function of ``SetSource``.
///
/// ```swift
/// let sync = try await downloader.sync(.hub("hf://org/model"), into: "models/model")
/// ```
public struct PublishedSet: SetSource {
    private let source: any SetSource

    fileprivate init(_ source: some SetSource) { self.source = source }

    /// The URL of the list, the hub, the folder, or the release in the server's API.
    public var location: URL? { source.location }

    /// Asks for the list, and checks its signature if one was given.
    ///
    /// - Throws: ``DownloadError``: ``DownloadError/Code/invalidSet`` for an answer that cannot be used,
    ///   ``DownloadError/Code/unprovedSet`` for a wrong signature, and for an unreadable list of digests in a release
    ///   or a folder, ``DownloadError/Code/programMissing`` without a program to check a signature, disk codes, and the
    ///   codes of a download.
    public func list(_ documents: SetDocuments) async throws(DownloadError) -> FileSet {
        try await source.list(documents)
    }
}

extension SetSource where Self == PublishedSet {
    /// A model, dataset or space of a hub with the API of the Hugging Face hub. Every file has a digest: a large file
    /// its SHA-256, a small file the id of its git blob.
    ///
    /// The revision is resolved to a commit once. All files come from this commit, even if the revision moves while
    /// they are fetched.
    ///
    /// - Parameters:
    ///   - reference: `hf://ORG/NAME`, `hf://datasets/ORG/NAME` or `hf://spaces/ORG/NAME`, with an optional
    ///     `@REVISION`: a branch, a tag or a commit.
    ///   - revision: the revision if `reference` has none; `nil` for `main`.
    ///   - endpoint: the URL of the hub; `nil` for `https://huggingface.co`.
    ///   - token: the user's access token. It is sent to the origin of `endpoint` alone.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL`` for a text that is no such reference,
    ///   ``DownloadError/Code/invalidHeader`` for a token that no header field can hold.
    public static func hub(
        _ reference: String,
        revision: String? = nil,
        endpoint: String? = nil,
        token: String? = nil
    ) throws(DownloadError) -> PublishedSet {
        let endpoint = endpoint ?? HubSource.defaultEndpoint
        return PublishedSet(
            try HubSource(try HubReference(reference), revision: revision, endpoint: endpoint, token: token)
        )
    }

    /// The files of a list of digests such as `SHA256SUMS`.
    ///
    /// - Parameters:
    ///   - url: an `http` or `https` URL. Names are relative to the URL that redirects lead to.
    ///   - signature: the publisher's signature, which is checked before the list is read; `nil` for none.
    public static func checksumList(_ url: URL, signature: SetSignature? = nil) -> PublishedSet {
        PublishedSet(ChecksumListSource(url, signature: signature))
    }

    /// The files of a list of digests on this machine.
    ///
    /// - Parameters:
    ///   - path: path of the list.
    ///   - base: the URL of the folder in which the listed files are.
    ///   - signature: as in ``checksumList(_:signature:)``.
    public static func checksumList(file path: String, base: URL, signature: SetSignature? = nil) -> PublishedSet {
        PublishedSet(ChecksumListSource(file: path, base: base, signature: signature))
    }

    /// The files that a project has published with a release on GitHub, GitLab, Gitea or Forgejo.
    ///
    /// Uses the digests that the release itself names. If a file has none, reads the lists of digests among the files.
    ///
    /// - Parameter url: the page of a release, such as `https://github.com/OWNER/NAME/releases/tag/TAG`.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL`` for a URL of another form.
    public static func release(_ url: URL) throws(DownloadError) -> PublishedSet {
        PublishedSet(try ReleaseSource(url))
    }

    /// The files of a Metalink document. The document's own digests and mirrors are used.
    ///
    /// - Parameter url: an `http` or `https` URL of the document.
    public static func metalink(_ url: URL) -> PublishedSet { PublishedSet(MetalinkSource(url)) }

    /// The files below a folder of a web server that lists its folders: nginx, Apache, Caddy, lighttpd, Python's
    /// `http.server`.
    ///
    /// Follows only links that lead below the folder. An index page names no digests. The digests come from lists in
    /// the folder, such as `SHA256SUMS`. Without a list, the sync compares the server's lengths and versions.
    ///
    /// - Parameters:
    ///   - url: an `http` or `https` URL of a folder, with a slash at the end of its path.
    ///   - depth: number of folder levels below `url` to enter; 0 for only the files of the folder itself. Deeper
    ///     folders are not part of the set. `nil`, the default: enters 5 levels, and deeper folders are
    ///     ``SetReport/faults``.
    public static func index(_ url: URL, depth: Int? = nil) -> PublishedSet {
        PublishedSet(IndexSource(url, depth: depth))
    }
}
