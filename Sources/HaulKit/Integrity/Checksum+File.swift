internal import Foundation

extension DownloadRequest.Checksum {
    /// Computes the digest of a file, off the caller's actor.
    ///
    /// - Throws: ``DownloadError`` with a disk code when the file cannot be read, with ``DownloadError/Code/cancelled``
    ///   when the task is cancelled.
    public static func of(_ algorithm: Algorithm, file path: String) async throws(DownloadError)
        -> DownloadRequest.Checksum
    {
        try await of(algorithm, file: path, on: .system, until: CancelFlag()) { path throws(DiskError) in
            try PosixFile.reading(path)
        }
    }

    /// Computes the digest of the file that `open` returns. Throws ``DownloadError/Code/cancelled`` if the task is
    /// cancelled or `flag` is set before the end.
    static func of(
        _ algorithm: Algorithm,
        file path: String,
        on executor: BlockingExecutor,
        until flag: CancelFlag,
        isolation: isolated (any Actor)? = #isolation,
        open: @escaping @Sendable (_ path: String) throws(DiskError) -> any DiskFile
    ) async throws(DownloadError) -> DownloadRequest.Checksum {
        let isCancelled = CancelFlag()
        let result: Result<DownloadRequest.Checksum?, DiskError> = await withTaskCancellationHandler {
            await executor.run {
                Result { () throws(DiskError) in
                    try read(algorithm, try open(path)) { flag.isSet || isCancelled.isSet }
                }
            }
        } onCancel: {
            isCancelled.set()
        }
        let checksum: DownloadRequest.Checksum?
        do { checksum = try result.get() } catch { throw DownloadError(error) }
        guard let checksum else {
            throw DownloadError(.cancelled, "The digest of \(path) was not computed to its end.")
        }
        return checksum
    }

    /// Computes the digest of an open file. Blocks.
    ///
    /// - Returns: `nil` if the computation was cancelled.
    static func read(_ algorithm: Algorithm, _ file: any DiskFile, isCancelled: () -> Bool) throws(DiskError)
        -> DownloadRequest.Checksum?
    {
        let size = algorithm.needsSize ? try file.size() : 0
        var digest = RunningDigest(algorithm, size: size)
        // Reads to the end of the file, because the system reports a length of 0 for some files.
        try digest.catchUp(with: file, written: { .max }, isCancelled: isCancelled)
        if algorithm.needsSize, digest.position != size, !isCancelled() {
            digest = RunningDigest(algorithm, size: digest.position)
            try digest.catchUp(with: file, written: { .max }, isCancelled: isCancelled)
        }
        return isCancelled() ? nil : digest.finish()
    }

    /// Whether a file has this digest.
    ///
    /// - Throws: as ``of(_:file:)``.
    public func verify(file path: String) async throws(DownloadError) -> Bool {
        try await Self.of(algorithm, file: path) == self
    }
}
