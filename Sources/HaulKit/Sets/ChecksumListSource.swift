package import Foundation

/// A list of digests such as `SHA256SUMS`, at a URL or in a file.
package struct ChecksumListSource: SetSource {
    private enum Place: Sendable {
        case url(URL)
        case file(path: String, base: URL?)
    }

    private let place: Place
    private let signature: SetSignature?

    /// A list at a URL.
    ///
    /// - Parameters:
    ///   - url: an `http` or `https` URL. Names are relative to the URL that redirects lead to.
    ///   - signature: the publisher's signature, which is checked before the list is read; `nil` for none.
    package init(_ url: URL, signature: SetSignature? = nil) {
        (place, self.signature) = (.url(url), signature)
    }

    /// A list in a file.
    ///
    /// - Parameters:
    ///   - path: path of the list.
    ///   - base: the URL of the folder in which the listed files are.
    ///   - signature: as in ``init(_:signature:)``.
    package init(file path: String, base: URL, signature: SetSignature? = nil) {
        (place, self.signature) = (.file(path: path, base: base), signature)
    }

    /// A list in a file, only for comparing a folder with the list. The listed files have no URLs and cannot be
    /// fetched.
    package init(comparing path: String, signature: SetSignature? = nil) {
        (place, self.signature) = (.file(path: path, base: nil), signature)
    }

    /// The URL of the list, or of the folder that a list in a file describes; `nil` for a list that is only compared.
    package var location: URL? {
        switch place {
        case .url(let url): url
        case .file(_, let base): base
        }
    }

    /// Fetches or reads the list, checks its signature, and then parses the lines.
    ///
    /// - Throws: ``DownloadError``: ``DownloadError/Code/invalidSet`` for a text that is no list,
    ///   ``DownloadError/Code/unprovedSet`` for a wrong signature, ``DownloadError/Code/programMissing`` without a
    ///   program to check it, disk codes, and the codes of a download.
    package func list(_ documents: SetDocuments) async throws(DownloadError) -> FileSet {
        let (bytes, base, name, isFramed) = try await contents(documents)
        let signed = try await SignedList(bytes, at: listURL, signature, documents)
        let list = try ChecksumList(signed.bytes, name: name)
        guard list.lines.count <= FileSet.maximumNames else { throw .tooManyFiles(name) }
        var set = FileSet(files: [], origin: origin, signedBy: signed.signer)
        set.refused = list.refused
        if let remark = list.remark(named: name) { set.remarks.append(remark) }
        // The file of a damaged line has no known name, so the report shows the list itself as a fault.
        if list.damagedLines > 0 { set.damage = RefusedName(name, list.damage) }
        // Only an unsigned list can lack its end unnoticed, because a signature covers the whole list.
        if !isFramed, signed.signer == nil { set.noteUnknownEnd(of: name) }
        for line in list.lines {
            do throws(DownloadError) {
                let url = try base.map { base throws(DownloadError) in try SetURL.file(line.name, besides: base) }
                set.files.append(FileSet.File(name: line.name, url: url ?? .nowhere, checksum: line.checksum))
            } catch {
                set.refused.append(RefusedName(line.name, error.message))
            }
        }
        return set
    }

    /// Reads the list, for the digests of single files.
    ///
    /// - Throws: as ``list(_:)``.
    func digests(_ documents: SetDocuments) async throws(DownloadError) -> ListedChecksums {
        let (bytes, _, name, _) = try await contents(documents)
        let signed = try await SignedList(bytes, at: listURL, signature, documents)
        return ListedChecksums(try ChecksumList(signed.bytes, name: name), signedBy: signed.signer)
    }

    /// The URL of the list; a `file` URL for a file.
    private var listURL: URL {
        switch place {
        case .url(let url): url
        case .file(let path, _): URL(fileURLWithPath: path)
        }
    }

    private var origin: String {
        switch place {
        case .url(let url): url.masked
        case .file(let path, _): path
        }
    }

    private func contents(_ documents: SetDocuments) async throws(DownloadError) -> (
        bytes: [UInt8], base: URL?, name: String, isFramed: Bool
    ) {
        switch place {
        case .url(let url):
            let document = try await documents.read(url)
            return (document.bytes, document.url, FileName.from(url: url) ?? "", document.isFramed)
        case .file(let path, let base):
            return (try await SetFile.read(path), base?.asFolder, FilePaths.name(of: path), true)
        }
    }
}

extension URL {
    /// The URL with a slash at its end, so that relative names lead below it.
    var asFolder: URL { appendingPathComponent("", isDirectory: true) }

    /// Placeholder for the URL of a listed file that can be compared but not fetched.
    static let nowhere = URL(fileURLWithPath: "/")
}
