public import Foundation

/// The digests of a publisher's list, for downloads of single listed files.
public struct ListedChecksums: Sendable {
    /// The signer of the list; `nil` if no signature was checked.
    public let signedBy: String?
    private let index: ChecksumIndex

    init(_ list: ChecksumList, signedBy: String?) { (self.signedBy, index) = (signedBy, ChecksumIndex(list)) }

    /// Returns the digest that the list names for the file of a request. Looks for the path of the request's URL, and
    /// then for the path of its ``DownloadRequest/Destination/file(path:)``. A listed name with folders matches the end
    /// of the path.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/unprovedSet`` if the list does not name the file,
    ///   names it without a digest that Haul can compute, or has several digests that fit.
    public func checksum(of request: DownloadRequest) throws(DownloadError) -> DownloadRequest.Checksum {
        switch entry(of: request) {
        case .checksum(let checksum): return checksum
        case .refused(let reason): throw DownloadError(.unprovedSet, reason)
        case .ambiguous: throw Self.unproved(request, "has several digests for")
        case nil: throw Self.unproved(request, "does not name")
        }
    }

    private func entry(of request: DownloadRequest) -> ChecksumIndex.Entry? {
        if !request.needsSource, let entry = index.entry(of: request.url) { return entry }
        guard case .file(let path) = request.destination else { return nil }
        return index.entry(ofPath: path)
    }

    /// - Parameter clause: verb of the message, such as `does not name`. The name of the file follows the verb.
    private static func unproved(_ request: DownloadRequest, _ clause: String) -> DownloadError {
        let name = name(of: request).map { "\u{201C}\(URL.cut($0))\u{201D}" } ?? "this file"
        return DownloadError(.unprovedSet, VisibleText.line("The list of digests \(clause) \(name)."))
    }

    private static func name(of request: DownloadRequest) -> String? {
        if !request.needsSource, let name = FileName.from(url: request.url) { return name }
        guard case .file(let path) = request.destination else { return nil }
        return FilePaths.name(of: path)
    }
}

/// Digests of single files.
extension Downloader {
    /// Reads a list of digests, after the check of its signature.
    ///
    /// ```swift
    /// let checksums = try await downloader.checksums(list, signature: .openPGP(signature, keyring: "publisher.gpg"))
    /// request.checksum = try checksums.checksum(of: request)
    /// ```
    ///
    /// - Parameters:
    ///   - list: an `http` or `https` URL of the list.
    ///   - signature: the publisher's signature, which is checked before the list is read; `nil` for none.
    ///   - headers: header fields for the origin of the list.
    /// - Throws: ``DownloadError``: ``DownloadError/Code/invalidSet`` for a text that is no list,
    ///   ``DownloadError/Code/unprovedSet`` for a wrong signature, ``DownloadError/Code/programMissing`` without a
    ///   program to check it, disk codes, and the codes of a download.
    public func checksums(
        _ list: URL,
        signature: SetSignature? = nil,
        headers: [HeaderField] = []
    ) async throws(DownloadError) -> ListedChecksums {
        try await checksums(ChecksumListSource(list, signature: signature), headers: headers)
    }

    /// Reads a list of digests at a URL or in a file, after the check of its signature.
    ///
    /// - Throws: as ``checksums(_:signature:headers:)``.
    package func checksums(
        _ list: ChecksumListSource,
        headers: [HeaderField] = []
    ) async throws(DownloadError) -> ListedChecksums {
        try checkIsOpen()
        let documents = SetDocuments(downloader: self, headers: headers, home: list.location)
        return try await list.digests(documents)
    }
}
