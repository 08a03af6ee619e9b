package import Foundation

/// The files of a Metalink document. The document's own digests and mirrors are used.
package struct MetalinkSource: SetSource {
    private let url: URL

    /// - Parameter url: an `http` or `https` URL of the document.
    package init(_ url: URL) { self.url = url }

    /// The URL of the document.
    package var location: URL? { url }

    /// Fetches the document.
    ///
    /// - Throws: ``DownloadError``: ``DownloadError/Code/invalidMetalink``, and the codes of a download.
    package func list(_ documents: SetDocuments) async throws(DownloadError) -> FileSet {
        let metalink = try Metalink(try await documents.read(url).bytes)
        return FileSet(metalink, origin: url.masked)
    }
}

extension FileSet {
    /// - Parameter origin: the URL of the document, masked, or its path.
    init(_ metalink: Metalink, origin: String) {
        let files = metalink.files.compactMap { file in
            file.sources.first.map { source in
                var entry = File(name: file.name, url: source.url, size: file.size, checksum: file.checksum)
                entry.mirrors = Array(file.sources.dropFirst())
                entry.pieces = file.pieces
                return entry
            }
        }
        self.init(files: files, origin: origin)
        remarks = metalink.remarks
    }
}
