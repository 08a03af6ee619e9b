internal import Foundation

extension DownloadRequest.Checksum {
    /// Computes the digest of a file, off the caller's actor.
    ///
    /// - Throws: ``DownloadError`` with a disk code when the file cannot be read, with ``DownloadError/Code/cancelled``
    ///   when the task is cancelled.
    public static func of(_ algorithm: Algorithm, file path: String) async throws(DownloadError)
        -> DownloadRequest.Checksum
    {
        try await of(algorithm, file: path, until: CancelFlag())
    }

    /// Computes the digest of a file. Ends early if the task is cancelled or `flag` is set.
    static func of(
        _ algorithm: Algorithm,
        file path: String,
        until flag: CancelFlag
    ) async throws(DownloadError) -> DownloadRequest.Checksum {
        let isCancelled = CancelFlag()
        let result: Result<DownloadRequest.Checksum?, DownloadError> = await withTaskCancellationHandler {
            await runBlocking {
                Result { () throws(DownloadError) in
                    do throws(DiskError) {
                        return try read(algorithm, path) { flag.isSet || isCancelled.isSet }
                    } catch { throw DownloadError(error) }
                }
            }
        } onCancel: {
            isCancelled.set()
        }
        guard let checksum = try result.get() else {
            throw DownloadError(.cancelled, "The digest of \(path) was not computed to its end.")
        }
        return checksum
    }

    /// - Returns: `nil` if the computation was cancelled.
    private static func read(_ algorithm: Algorithm, _ path: String, isCancelled: () -> Bool) throws(DiskError)
        -> DownloadRequest.Checksum?
    {
        let file = try PosixFile.reading(path)
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
