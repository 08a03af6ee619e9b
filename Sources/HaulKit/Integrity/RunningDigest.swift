internal import NIOCore
internal import Synchronization

/// Computes the digest of a file from byte 0 on while the bytes are written.
///
/// `catchUp` reads the bytes of a resumed prefix back once, while new bytes are already being written.
final class RunningDigest: Sendable {
    let algorithm: DownloadRequest.Checksum.Algorithm
    private struct State {
        var hasher: DigestHasher
        var position: Int64 = 0
    }
    private let state: Mutex<State>

    /// Makes a digest of a file whose length is not known yet.
    ///
    /// - Returns: `nil` for an algorithm that needs the length first.
    init?(_ algorithm: DownloadRequest.Checksum.Algorithm) {
        guard let hasher = DigestHasher(algorithm) else { return nil }
        self.algorithm = algorithm
        state = Mutex(State(hasher: hasher))
    }

    /// - Parameter size: length of the file; only some algorithms use it.
    init(_ algorithm: DownloadRequest.Checksum.Algorithm, size: Int64) {
        self.algorithm = algorithm
        state = Mutex(State(hasher: DigestHasher(algorithm, size: size)))
    }

    var position: Int64 { state.withLock { $0.position } }

    /// Hashes bytes that were just written, if they directly follow the hashed ones. Otherwise `catchUp` reads them
    /// later.
    func update(_ buffers: [ByteBuffer], at offset: Int64) {
        state.withLock { state in
            guard state.position == offset else { return }
            for buffer in buffers {
                buffer.withUnsafeReadableBytes { state.hasher.update($0) }
                state.position += Int64(buffer.readableBytes)
            }
        }
    }

    /// Reads the file back until the digest reaches the position that `written` returns. Blocks: call it off the event
    /// loops. May run beside the writer.
    ///
    /// - Parameter isCancelled: called before each block of 1 MiB.
    func catchUp(with file: any DiskFile, written: () -> Int64, isCancelled: () -> Bool) throws(DiskError) {
        while !isCancelled() {
            let position = self.position
            let behind = written() - position
            guard behind > 0 else { return }
            let block = try file.read(at: position, count: Int(min(behind, 1 << 20)))
            // Another process has truncated the file. The digest then does not match, as is right for a truncated file.
            guard !block.isEmpty else { return }
            state.withLock { state in
                guard state.position == position else { return }
                block.withUnsafeBytes { state.hasher.update($0) }
                state.position += Int64(block.count)
            }
        }
    }

    /// Returns the digest of all bytes hashed so far.
    func finish() -> DownloadRequest.Checksum? {
        state.withLock { DownloadRequest.Checksum(algorithm, digest: $0.hasher.finish()) }
    }
}
