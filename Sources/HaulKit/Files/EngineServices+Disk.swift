/// Calls of the disk, made where they may block.
extension EngineServices {
    /// Runs a blocking call on a thread that may block.
    func runBlocking<Value: Sendable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        _ call: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await executor.run(call)
    }

    /// The same for calls of the disk; their errors become those of a download.
    func onDisk<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation,
        _ call: @escaping @Sendable () throws(DiskError) -> Value
    ) async throws(DownloadError) -> Value {
        do { return try await executor.run(call) } catch { throw DownloadError(error) }
    }

    func status(of file: any DiskFile, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError)
        -> FileStatus
    {
        try await onDisk { () throws(DiskError) in try file.status() }
    }

    /// Makes the folder that a file is to lie in.
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

    /// Refuses a path of which a part that came from outside is a symbolic link by now.
    func checkFolder(of path: String, _ record: DownloadRecord, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError)
    {
        guard let root = record.root(of: path) else { return }
        let (disk, folder) = (disk, FilePaths.folder(of: path))
        try await onDisk { () throws(DiskError) in
            do throws(DiskError) { try disk.walk(to: folder, beneath: root, making: false) } catch {
                // What is not there leads nowhere.
                if error.kind != .notFound { throw error }
            }
        }
    }
}
