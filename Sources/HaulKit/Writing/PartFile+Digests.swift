internal import Dispatch
internal import Synchronization

/// Digests of the file and of its pieces, which are computed while the bytes come.
extension PartFile {
    /// Keeps a digest of the file from now on. The bytes already on the disk are read back in the background. A digest
    /// that needs the length first is computed only when it is asked for.
    func keepDigest(_ algorithm: DownloadRequest.Checksum.Algorithm) {
        state.withLock { state in
            if state.digest?.algorithm != algorithm { state.digest = RunningDigest(algorithm) }
        }
        catchUp()
    }

    /// Reads back, in the background, the bytes of the in-order prefix that the digest does not cover yet. Those are
    /// bytes of an earlier run, and bytes that arrived before a gap in front of them was closed.
    func catchUp() {
        let digest: RunningDigest? = state.withLock { state in
            guard let digest = state.digest, !state.isCatchingUp, state.persisted.prefix > digest.position else {
                return nil
            }
            state.isCatchingUp = true
            return digest
        }
        guard let digest else { return }
        executor.async(.utility) { [weak self] in
            guard let file = self?.file else { return }
            // An error occurs again when the digest is finished, and is reported then.
            try? digest.catchUp(
                with: file,
                written: { [weak self] in self?.persisted.prefix ?? 0 },
                isCancelled: { self == nil }
            )
            self?.state.withLock { $0.isCatchingUp = false }
        }
    }

    /// Returns the digest of the whole file. Reads back the bytes that were not hashed while they were written.
    ///
    /// - Returns: `nil` if `isCancelled` returned `true` first.
    func digest(_ algorithm: DownloadRequest.Checksum.Algorithm, isCancelled: @escaping @Sendable () -> Bool)
        async throws(DiskError)
        -> DownloadRequest.Checksum?
    {
        let running: RunningDigest? = state.withLock { state in
            if state.digest?.algorithm != algorithm { state.digest = RunningDigest(algorithm) }
            return state.digest
        }
        return try await onWriteThread { () throws(DiskError) in
            let digest = running ?? RunningDigest(algorithm, size: self.persisted.prefix)
            try digest.catchUp(with: self.file, written: { self.persisted.prefix }, isCancelled: isCancelled)
            return isCancelled() ? nil : digest.finish()
        }
    }

    /// Keeps the digests of pieces from now on.
    func keepPieces(_ hashes: PieceHashes, total: Int64) {
        state.withLock { state in
            if state.pieces?.hashes != hashes || state.pieces?.total != total {
                state.pieces = PieceDigests(hashes, total: total)
            }
        }
    }

    /// Whether a complete piece matches its digest. Reads the piece back if it was not hashed while it was written.
    func isRight(piece: Int) async throws(DiskError) -> Bool {
        guard let pieces = state.withLock({ $0.pieces }) else { return false }
        return try await executor.run { () throws(DiskError) in try pieces.isRight(piece, in: self.file) }
    }
}
