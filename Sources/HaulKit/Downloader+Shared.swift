extension Downloader {
    /// The downloader of this process with the default ``Configuration``. The first use opens it; every later use
    /// returns the same downloader.
    ///
    /// ```swift
    /// let file = try await Downloader.shared.download("https://example.org/disk.iso", to: "Downloads").result()
    /// ```
    ///
    /// The shared downloader is for programs without settings of their own. Every other program opens a ``Downloader``
    /// with ``init(_:)``, under another name if it also uses the shared downloader: a second downloader of the name
    /// `default` gets ``DownloadError/Code/inUse``.
    ///
    /// The process keeps this downloader until its end. Call ``shutDown()`` before that. After the shutdown every call
    /// throws ``DownloadError/Code/shutDown``: the downloader does not open again.
    ///
    /// - Throws: as ``init(_:)`` if the store cannot be opened. The next use tries again.
    public static var shared: Downloader {
        get async throws(DownloadError) { try await SharedDownloader.ofTheProcess.get() }
    }
}

/// Opens one downloader at the first call, and returns it to every caller.
actor SharedDownloader {
    static let ofTheProcess = SharedDownloader { () async throws(DownloadError) in try await Downloader() }

    private let make: @Sendable () async throws(DownloadError) -> Downloader
    /// The task that opens the downloader or has opened it; `nil` before the first call and after a failure.
    private var opening: Task<Result<Downloader, DownloadError>, Never>?

    init(_ make: @escaping @Sendable () async throws(DownloadError) -> Downloader) { self.make = make }

    func get() async throws(DownloadError) -> Downloader {
        let opening = opening ?? begin()
        let result = await opening.value
        // Another caller may have begun the next opening by now.
        if case .failure = result, self.opening == opening { self.opening = nil }
        return try result.get()
    }

    private func begin() -> Task<Result<Downloader, DownloadError>, Never> {
        let make = make
        let task = Task { () async -> Result<Downloader, DownloadError> in
            do throws(DownloadError) { return .success(try await make()) } catch { return .failure(error) }
        }
        opening = task
        return task
    }
}
