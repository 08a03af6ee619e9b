package import Foundation

/// The files that a project has published with a release on GitHub, GitLab, Gitea or Forgejo.
///
/// Uses the digests that the release itself names. If a file has none, reads the lists of digests among the files.
package struct ReleaseSource: SetSource {
    private let reference: ReleaseReference

    /// - Parameter url: the page of a release, such as `https://github.com/OWNER/NAME/releases/tag/TAG`.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL`` for a URL of another form.
    package init(_ url: URL) throws(DownloadError) {
        guard let reference = ReleaseReference(url) else {
            throw DownloadError(.invalidURL, "\(url.messageText) is not the page of a release.")
        }
        self.reference = reference
    }

    package init(_ reference: ReleaseReference) { self.reference = reference }

    /// The URL of the release in the server's API; `nil` if the server cannot be asked. ``list(_:)`` then throws the
    /// reason.
    package var location: URL? { try? reference.apiURL() }

    /// Asks the server for the files of the release, and fetches the lists of digests among them if a file has no
    /// digest.
    ///
    /// - Throws: ``DownloadError``: ``DownloadError/Code/invalidSet`` for an answer that cannot be used,
    ///   ``DownloadError/Code/unprovedSet`` for a list of digests that cannot be read, and the codes of a download.
    package func list(_ documents: SetDocuments) async throws(DownloadError) -> FileSet {
        let document = try await documents.read(try reference.apiURL())
        let release = try ReleaseAnswer(document.bytes, from: reference.host)
        var set = FileSet(files: [], origin: location?.masked ?? "", revision: release.tag ?? reference.tag)
        set.files = release.assets.map { asset in
            FileSet.File(name: asset.name, url: asset.url, size: asset.size, checksum: asset.checksum)
        }
        set.refused = release.refused
        if set.files.contains(where: { $0.checksum == nil }) {
            var digests = SetDigests()
            for (name, reason) in release.unproved { digests.refuse(name, reason) }
            try await documents.applyLists(of: &set, onlyLastParts: true, to: digests)
        }
        return set
    }
}
