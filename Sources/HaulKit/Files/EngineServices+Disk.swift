/// Runs disk calls on threads that may block.
extension EngineServices {
    func runBlocking<Value: Sendable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        _ call: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await executor.run(call)
    }

    /// Runs a disk call on a thread that may block. Converts a `DiskError` to a ``DownloadError``.
    func onDisk<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation,
        _ call: @escaping @Sendable () throws(DiskError) -> Value
    ) async throws(DownloadError) -> Value {
        do { return try await executor.run(call) } catch { throw DownloadError(error) }
    }

    /// Whether a file, a folder or a link is at `path`.
    func exists(_ path: String, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) -> Bool {
        let disk = disk
        return try await onDisk { () throws(DiskError) in try disk.status(path) != nil }
    }

    func status(of file: any DiskFile, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError)
        -> FileStatus
    {
        try await onDisk { () throws(DiskError) in try file.status() }
    }

    /// Creates the folder of the file at `path`. Throws if a folder below ``DownloadRecord/root(of:)`` is a symbolic
    /// link.
    func createFolder(of path: String, _ record: DownloadRecord, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError)
    {
        let (disk, folder, root) = (disk, FilePaths.folder(of: path), record.root(of: path))
        try await onDisk { () throws(DiskError) in
            if let root {
                try disk.walk(to: folder, beneath: root, making: true)
            } else {
                try disk.createFolder(folder)
            }
        }
    }

    /// Throws if a folder of `path` below ``DownloadRecord/root(of:)`` is a symbolic link by now.
    func checkFolder(of path: String, _ record: DownloadRecord, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError)
    {
        guard let root = record.root(of: path) else { return }
        let (disk, folder) = (disk, FilePaths.folder(of: path))
        try await onDisk { () throws(DiskError) in
            do throws(DiskError) { try disk.walk(to: folder, beneath: root, making: false) } catch {
                // A folder that does not exist cannot be a symbolic link.
                if error.kind != .notFound { throw error }
            }
        }
    }
}
