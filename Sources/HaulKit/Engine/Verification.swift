internal import Foundation

extension Checksum {
    /// Computes the digest of a file.
    ///
    /// - Throws: ``DownloadError`` with a disk code when the file cannot be read.
    public static func of(_ algorithm: Algorithm, file path: String) async throws(DownloadError) -> Checksum {
        let checksum = try await offActor { () throws(DownloadError) -> Checksum? in
            do throws(DiskError) {
                let file = try PosixFile(path, flags: O_RDONLY)
                let status = try file.status()
                guard status.kind == .file else { throw DiskError(.notAFile, call: "read", path: path) }
                let size = status.size
                let digest = RunningDigest(algorithm)
                try digest.catchUp(with: file, written: { size }, isCancelled: { false })
                return digest.finish()
            } catch { throw DownloadError(error) }
        }
        guard let checksum else { throw DownloadError(.internalFault, "The digest could not be computed.") }
        return checksum
    }

    /// Whether a file has this digest. Throws as ``of(_:file:)`` does.
    public func verify(file path: String) async throws(DownloadError) -> Bool {
        try await Self.of(algorithm, file: path) == self
    }
}
