internal import Foundation

extension SetSourceText {
    /// Makes the source that the text names.
    ///
    /// - Parameters:
    ///   - access: address and access token of the hub.
    ///   - revision: branch, tag or commit; only for a hub reference without a revision. `nil` to use the text's own.
    ///   - depth: number of folder levels below an index to enter; `nil` for the default of ``IndexSource``.
    ///   - signature: signature of a list of digests; `nil` for none.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL`` for a list on this machine, because it
    ///   does not contain the URLs of its files, and for a revision that the source does not accept.
    package func source(
        access: HubAccess,
        revision: String? = nil,
        depth: Int? = nil,
        signature: SetSignature? = nil
    ) throws(DownloadError) -> any SetSource {
        if revision != nil {
            guard case .hub(let reference) = self else {
                throw DownloadError(.invalidURL, "Only an hf:// source has revisions to choose from.")
            }
            guard reference.revision == nil else {
                throw DownloadError(.invalidURL, "The source names a revision already: leave out the other one.")
            }
        }
        switch self {
        case .hub(let reference):
            return try HubSource(reference, revision: revision, endpoint: access.endpoint, token: access.token)
        case .release(let reference): return ReleaseSource(reference)
        case .checksumList(let url): return ChecksumListSource(url, signature: signature)
        case .metalink(let url): return MetalinkSource(url)
        case .index(let url): return IndexSource(url, depth: depth)
        case .file:
            throw DownloadError(.invalidURL, "A list on a disk says nothing of the URLs of its files.")
        }
    }

    /// Returns a name for the set that is safe as the name of a folder: the name of the model, the project and the tag
    /// of a release, the name of the document, or the name of the folder that has the list or the index.
    ///
    /// - Parameter text: the text from which this value was made.
    package func name(of text: String) -> String { FileName.safe(rawName(of: text)) ?? "set" }

    private func rawName(of text: String) -> String {
        switch self {
        case .hub(let reference): Self.parts(String(reference.description.prefix { $0 != "@" })).last ?? ""
        case .release:
            Self.parts(URL(string: text)?.path ?? "").filter { !["-", "releases", "tag"].contains($0) }.suffix(2)
                .joined(separator: "-")
        case .checksumList(let url): Self.parts(url.path).dropLast().last ?? url.host ?? ""
        case .metalink(let url): Self.parts(url.path).last.map(Self.withoutExtension) ?? url.host ?? ""
        case .index(let url): Self.parts(url.path).last ?? url.host ?? ""
        case .file(let path): Self.withoutExtension(FilePaths.name(of: path))
        }
    }

    private static func parts(_ path: String) -> [String] { path.split(separator: "/").map(String.init) }

    private static func withoutExtension(_ name: String) -> String {
        name.lastIndex(of: ".").map { $0 == name.startIndex ? name : String(name[..<$0]) } ?? name
    }
}

extension HubAccess: Hashable {
    package init(endpoint: String = HubSource.defaultEndpoint, token: String? = nil) {
        self.endpoint = endpoint
        self.token = token
    }

    package static func == (one: HubAccess, other: HubAccess) -> Bool {
        one.endpoint == other.endpoint && one.token == other.token
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(endpoint)
        hasher.combine(token)
    }
}
