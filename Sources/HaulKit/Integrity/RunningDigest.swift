internal import NIOCore
internal import Synchronization

/// A digest of the bytes from 0 on, kept up to date while they are written.
///
/// Bytes that were there before (a resumed prefix) are read back once, by `catchUp`, while new ones already land.
final class RunningDigest: Sendable {
    let algorithm: DownloadRequest.Checksum.Algorithm
    private struct State {
        var hasher: DigestHasher
        var position: Int64 = 0
    }
    private let state: Mutex<State>

    init(_ algorithm: DownloadRequest.Checksum.Algorithm) {
        self.algorithm = algorithm
        state = Mutex(State(hasher: DigestHasher(algorithm)))
    }

    var position: Int64 { state.withLock { $0.position } }

    /// Takes in bytes that were just written, if they continue what has been hashed; otherwise `catchUp` will.
    func update(_ buffers: [ByteBuffer], at offset: Int64) {
        state.withLock { state in
            guard state.position == offset else { return }
            for buffer in buffers {
                buffer.withUnsafeReadableBytes { state.hasher.update($0) }
                state.position += Int64(buffer.readableBytes)
            }
        }
    }

    /// Reads back what is behind, until the digest has come as far as `written` says. Blocks; made to be called off the
    /// event loops, beside the writer.
    ///
    /// - Parameter isCancelled: asked between blocks of 1 MiB.
    func catchUp(with file: any DiskFile, written: () -> Int64, isCancelled: () -> Bool) throws(DiskError) {
        while !isCancelled() {
            let position = self.position
            let behind = written() - position
            guard behind > 0 else { return }
            let block = try file.read(at: position, count: Int(min(behind, 1 << 20)))
            // Shorter than the writer said: the file was cut by somebody. The digest will not match, which is the truth.
            guard !block.isEmpty else { return }
            state.withLock { state in
                guard state.position == position else { return }
                block.withUnsafeBytes { state.hasher.update($0) }
                state.position += Int64(block.count)
            }
        }
    }

    /// The digest of everything taken in so far.
    func finish() -> DownloadRequest.Checksum? {
        state.withLock { DownloadRequest.Checksum(algorithm, digest: $0.hasher.finish()) }
    }
}
