public import Foundation

extension Downloader {
    /// Downloads a file into a folder: the shortest form of ``add(_:)-(DownloadRequest)``.
    ///
    /// ```swift
    /// let file = try await downloader.download("https://example.org/disk.iso", to: "Downloads").result()
    /// ```
    ///
    /// - Parameters:
    ///   - source: the URL, as `URL`, `String` or another ``DownloadRequest/URLConvertible``.
    ///   - folder: path of the folder; a relative path starts at the current folder. The name of the file is taken from
    ///     the response.
    /// - Returns: the handle of the download, at once. ``Download/result(onCancel:)`` waits for the file.
    /// - Throws: ``DownloadError``, as ``add(_:)-(DownloadRequest)``; ``DownloadError/Code/invalidURL`` when `source`
    ///   has no URL.
    public func download(_ source: some DownloadRequest.URLConvertible, to folder: String) async throws(DownloadError)
        -> Download
    {
        try await add(DownloadRequest(source, to: .folder(path: folder)))
    }

    /// Downloads a file into a folder that is given as a file URL.
    ///
    /// - Throws: ``DownloadError``, as with a path; ``DownloadError/Code/invalidDestination`` when `folder` is not a
    ///   file URL.
    public func download(_ source: some DownloadRequest.URLConvertible, to folder: URL) async throws(DownloadError)
        -> Download
    {
        try await add(DownloadRequest(source, to: .folder(folder)))
    }
}
