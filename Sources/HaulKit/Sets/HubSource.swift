package import Foundation

/// A model, dataset or space of a hub with the API of the Hugging Face hub. Every file has a digest: a large file its
/// SHA-256, a small file the id of its git blob.
///
/// The revision is resolved to a commit once. All files come from this commit, even if the revision moves while they
/// are fetched.
package struct HubSource: SetSource {
    private let reference: HubReference
    private let endpoint: URL
    private let token: String?

    /// URL of the Hugging Face hub, for a source without another endpoint.
    package static let defaultEndpoint = "https://huggingface.co"

    /// Makes a source for a reference; see ``PublishedSet``.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL`` for an endpoint or a revision that
    ///   cannot be used, ``DownloadError/Code/invalidHeader`` for a token that no header field can hold.
    package init(
        _ reference: HubReference,
        revision: String? = nil,
        endpoint: String = defaultEndpoint,
        token: String? = nil
    ) throws(DownloadError) {
        guard let endpoint = HTTPURL(endpoint)?.url else {
            throw DownloadError(.invalidURL, "The address of the hub is no http or https URL.")
        }
        if let token { _ = try Self.authorization(token) }
        (self.endpoint, self.token) = (endpoint, token)
        guard let revision, reference.revision == nil else {
            self.reference = reference
            return
        }
        self.reference = try HubReference(reference.at(SetURL.escaped(revision)))
    }

    private static func authorization(_ token: String) throws(DownloadError) -> HeaderField {
        guard !token.isEmpty, let field = HeaderField("Authorization", "Bearer \(token)") else {
            throw DownloadError(.invalidHeader, "The access token has characters that no header field can hold.")
        }
        return field
    }

    /// The URL of the hub.
    package var location: URL? { endpoint }

    /// Asks the hub for the commit of the revision, and then for the pages of its tree.
    ///
    /// - Throws: ``DownloadError``: ``DownloadError/Code/refusedByServer`` for a repository that is private, gated or
    ///   not there, ``DownloadError/Code/invalidSet`` for an answer that cannot be used, and the codes of a download.
    package func list(_ documents: SetDocuments) async throws(DownloadError) -> FileSet {
        let headers = try token.map { token throws(DownloadError) in [try Self.authorization(token)] } ?? []
        let (reference, hasToken) = (reference, token != nil)
        let refusal = { @Sendable (head: ResponseHead) in
            HubRefusal(head).map { $0.error(for: reference, hasToken: hasToken) }
        }
        let answer = try await documents.read(
            reference.revisionURL(endpoint: endpoint),
            headers: headers,
            refusal: refusal
        )
        let commit = try HubAnswer.commit(answer.bytes, for: reference.revision)
        var set = FileSet(files: [], origin: reference.at(commit), revision: commit)
        var next: URL? = try reference.treeURL(endpoint: endpoint, commit: commit)
        var pages: Set<URL> = []
        while let page = next {
            // A page that leads back to an earlier one would make this loop endless.
            guard pages.insert(page).inserted else {
                throw .invalidSet("a page of the hub's list leads back to an earlier one")
            }
            guard pages.count <= Self.mostPages else {
                throw .invalidSet("the hub's list has more than \(Self.mostPages) pages")
            }
            let answer = try await documents.read(page, headers: headers, refusal: refusal)
            let entries = try HubAnswer.entries(answer.bytes)
            for entry in entries where !entry.isFolder {
                add(entry, at: commit, headers, to: &set)
            }
            guard set.names <= FileSet.maximumNames else { throw .tooManyFiles(reference.description) }
            next = try HubAnswer.nextPage(answer.headers["Link"], after: page)
            guard next == nil || !entries.isEmpty else {
                throw .invalidSet("an empty page of the hub's list has a page after it")
            }
        }
        return set
    }

    private static let mostPages = 100_000

    private func add(_ entry: HubEntry, at commit: String, _ headers: [HeaderField], to set: inout FileSet) {
        do throws(DownloadError) {
            let url = try reference.fileURL(endpoint: endpoint, commit: commit, path: entry.path)
            set.files.append(
                FileSet.File(name: entry.path, url: url, size: entry.size, checksum: entry.checksum, headers: headers)
            )
        } catch {
            set.refused.append(RefusedName(entry.path, error.message))
        }
    }
}
