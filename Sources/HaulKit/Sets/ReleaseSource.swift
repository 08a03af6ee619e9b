public import Foundation

/// The files that a project has published with a release on GitHub, GitLab, Gitea or Forgejo.
///
/// A digest that the release itself names counts. For the other files, the lists of digests among the files are read.
public struct ReleaseSource: SetSource {
    private let reference: ReleaseReference

    /// - Parameter url: the page of a release, such as `https://github.com/OWNER/NAME/releases/tag/TAG`.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL`` for another page.
    public init(_ url: URL) throws(DownloadError) {
        guard let reference = ReleaseReference(url) else {
            throw DownloadError(.invalidURL, "\(url.messageText) is not the page of a release.")
        }
        self.reference = reference
    }

    package init(_ reference: ReleaseReference) { self.reference = reference }

    public var location: URL? { reference.apiURL }

    public func list(_ documents: SetDocuments) async throws(DownloadError) -> FileSet {
        let answer = try await documents.read(reference.apiURL, headers: ReleaseReference.headers)
        let assets = try ReleaseAssets(answer.bytes, of: reference)
        var files = assets.files
        if files.contains(where: { $0.checksum == nil }) {
            for list in assets.checksumLists {
                let document = try await documents.read(list.url)
                let digests = try ChecksumList(document.bytes, name: list.name)
                for index in files.indices where files[index].checksum == nil && files[index].name != list.name {
                    files[index].checksum = digests.checksum(of: files[index].name)
                }
            }
        }
        return FileSet(files: files, origin: reference.description, revision: assets.tag)
    }
}
