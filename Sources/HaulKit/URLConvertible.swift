public import Foundation

/// What can be taken for the URL of a download: `URL`, `String`, `URLComponents`, and types of the application's own.
public protocol URLConvertible: Sendable {
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL`` where it is none.
    func downloadURL() throws(DownloadError) -> URL
}

extension URL: URLConvertible {
    public func downloadURL() -> URL { self }
}

extension String: URLConvertible {
    /// White space around it does not count.
    public func downloadURL() throws(DownloadError) -> URL {
        let isTrimmed = [utf8.first, utf8.last].allSatisfy { $0.map { (0x21...0x7E).contains($0) } ?? false }
        guard let url = URL(string: isTrimmed ? self : trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw DownloadError.noURL
        }
        return url
    }
}

extension URLComponents: URLConvertible {
    public func downloadURL() throws(DownloadError) -> URL {
        guard let url else { throw DownloadError.noURL }
        return url
    }
}

extension DownloadError {
    package static let noURL = DownloadError(
        .invalidURL,
        "A URL cannot be read. It should begin with http:// or https://; what stands in it is not shown, since it may hold a password."
    )
}

extension DownloadRequest {
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL``.
    public init(_ source: some URLConvertible, to destination: Destination) throws(DownloadError) {
        self.init(try source.downloadURL(), to: destination)
    }
}

extension Downloader {
    /// Adds a download into a folder, as ``add(_:)-(DownloadRequest)`` does.
    ///
    /// - Parameter folder: a path; what is not absolute begins at the current folder.
    /// - Throws: ``DownloadError``, as there.
    public func add(_ source: some URLConvertible, to folder: String) async throws(DownloadError) -> Download {
        try await add(DownloadRequest(source, to: .folder(path: folder)))
    }

    /// Adds many downloads into a folder, as ``add(_:)-([DownloadRequest])`` does, and returns what came of each, in their
    /// order; what is no URL is a failure of its own and hinders none of the others.
    public func add(_ sources: [any URLConvertible], to folder: String) async -> [Result<Download, DownloadError>] {
        let requests: [Result<DownloadRequest, DownloadError>] = sources.map { source in
            Result { () throws(DownloadError) in
                DownloadRequest(try source.downloadURL(), to: .folder(path: folder))
            }
        }
        // What is no URL is answered below.
        var added = await add(requests.compactMap { try? $0.get() }).makeIterator()
        return requests.map { request in
            request.flatMap { _ in added.next() ?? .failure(Self.isShutDown) }
        }
    }
}
