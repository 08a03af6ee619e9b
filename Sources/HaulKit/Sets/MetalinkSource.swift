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
    /// - Throws: ``DownloadError``: ``DownloadError/Code/invalidSet`` for a document that cannot be used, and the codes
    ///   of a download. A described file that cannot be used becomes a fault of the report.
    package func list(_ documents: SetDocuments) async throws(DownloadError) -> FileSet {
        let bytes = try await documents.read(url).bytes
        do throws(DownloadError) { return FileSet(try Metalink(bytes), origin: url.masked) } catch {
            throw DownloadError(.invalidSet, error.message, cause: error.cause)
        }
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
        refused = metalink.leftOut
        let reasons = Set(refused.map(\.reason))
        remarks = metalink.remarks.filter { !reasons.contains($0) }
    }
}
