internal import Dispatch
internal import NIOCore
internal import Synchronization

/// A partial file while it is being written: the locked file, its write thread, and which bytes have come how far.
///
/// Writes of all connections run one after another, on a thread that may block; a sync runs beside them, and vouches only
/// for what was written before it began.
final class PartFile: Sendable {
    let file: any DiskFile
    private let executor: BlockingExecutor
    private let writes: SerialQueue
    private struct State {
        var persisted: PersistedRanges
        /// The file's digest, when one is wanted.
        var digest: RunningDigest?
        var isCatchingUp = false
        /// The digests of its pieces, when they are known beforehand.
        var pieces: PieceDigests?
        /// A sync failed: nothing written since the last good one may be claimed, and nothing more is taken.
        var syncFailure: DiskError?
        /// Counts the times that something was forgotten: a sync from before vouches for nothing after.
        var generation = 0
        /// Counts the times that everything was forgotten.
        var version = 0
        /// Bytes written in this opening, and how many of them are worth the next mark of its own.
        var written: Int64 = 0
        var milestone: Int64 = 0
    }
    private let state: Mutex<State>
    /// Called when the first bytes of this opening are written, and each time `milestoneDistance` more are: the first mark
    /// should not wait for the next tick, and on a fast line a tick is a lot of bytes.
    private let onMilestone: @Sendable () -> Void
    private static let milestoneDistance: Int64 = 16 << 20

    /// The first pieces are checked as soon as they are here: a source that sends wrong ones is not to send many.
    private static func milestoneDistance(_ state: State) -> Int64 {
        guard let pieces = state.pieces, state.written / 4 < pieces.hashes.pieceLength else { return milestoneDistance }
        return min(milestoneDistance, pieces.hashes.pieceLength / 2)
    }

    init(
        _ file: any DiskFile,
        persisted: PersistedRanges,
        executor: BlockingExecutor = .system,
        onMilestone: @escaping @Sendable () -> Void
    ) {
        self.file = file
        self.executor = executor
        self.onMilestone = onMilestone
        writes = executor.makeFileQueue()
        state = Mutex(State(persisted: persisted))
    }

    var path: String { file.path }
    /// The first sync that failed, if one did.
    var syncFailure: DiskError? { state.withLock(\.syncFailure) }
    var persisted: PersistedRanges { state.withLock { $0.persisted } }
    /// Another number after each start-over.
    var version: Int { state.withLock(\.version) }

    /// Forgets every byte; the caller has made the store forget them first.
    func startOver() async throws(DiskError) {
        try await onWriteThread { () throws(DiskError) in
            try self.file.truncate(0)
            self.state.withLock {
                $0.persisted = .zero
                $0.milestone = 0
                $0.written = 0
                $0.generation += 1
                $0.version += 1
                $0.syncFailure = nil
                if let algorithm = $0.digest?.algorithm { $0.digest = RunningDigest(algorithm) }
                $0.pieces?.startOver()
            }
        }
    }

    /// Forgets some bytes, which are to come again.
    func forget(_ range: Range<Int64>) {
        state.withLock { state in
            state.persisted.written.remove(contentsOf: range)
            state.persisted.synced.remove(contentsOf: range)
            state.generation += 1
            // What was hashed of it is wrong too; the digest is computed again from the disk.
            // A block of it may just be on its way from the disk to the digest.
            if let digest = state.digest, digest.position > range.lowerBound || state.isCatchingUp {
                state.digest = RunningDigest(digest.algorithm)
            }
        }
    }

    // MARK: Writing

    /// Writes a batch at `offset` on the write thread, and takes it into the mark.
    ///
    /// What is claimed already stays as it is: another connection brought it, and it may have been compared with a digest
    /// since. Two of them may send the same bytes for a moment, when one is cut short or is to outrun the other.
    func write(_ batch: [ByteBuffer], at offset: Int64, done: @escaping @Sendable (DiskError?) -> Void) {
        writes.async { done(self.write(batch, at: offset)) }
    }

    /// The same at once, where there is no disk to wait for.
    ///
    /// - Returns: nil when there is one; nothing has been written then.
    func writeInMemory(_ batch: [ByteBuffer], at offset: Int64) -> Result<Void, DiskError>? {
        guard file.isInMemory else { return nil }
        return write(batch, at: offset).map { .failure($0) } ?? .success(())
    }

    private func write(_ batch: [ByteBuffer], at offset: Int64) -> DiskError? {
        let length = batch.reduce(0) { $0 + Int64($1.readableBytes) }
        let here = state.withLock { $0.persisted.written }
        let fresh =
            here.intersects(offset..<offset + length) ? batch.parts(besides: here, at: offset) : [(offset, batch)]
        do throws(DiskError) {
            if let failure = state.withLock({ $0.syncFailure }) { throw failure }
            try checkLength(here)
            for (offset, batch) in fresh { try file.write(batch, at: offset) }
        } catch { return error }
        let (digest, pieces) = state.withLock { ($0.digest, $0.pieces) }
        for (offset, batch) in fresh {
            digest?.update(batch, at: offset)
            pieces?.update(batch, at: offset)
        }
        let isMilestone = state.withLock { state in
            // Only what was written now: what was here may have been found wrong meanwhile.
            for (offset, batch) in fresh where state.syncFailure == nil {
                let length = batch.reduce(0) { $0 + Int64($1.readableBytes) }
                if length > 0 { state.persisted.written.insert(contentsOf: offset..<offset + length) }
            }
            state.written += length
            guard state.written >= state.milestone else { return false }
            state.milestone = state.written + Self.milestoneDistance(state)
            return true
        }
        if isMilestone { onMilestone() }
        return nil
    }

    /// A write beyond the end of a file that another program has cut would leave a hole that could not be found again.
    ///
    /// - Throws: of the kind `cutShort`; nothing of the file may be relied on then, and nothing more is taken.
    private func checkLength(_ here: ByteSet) throws(DiskError) {
        guard let end = here.ranges.last?.upperBound, !file.isInMemory, try file.size() < end else { return }
        throw fail(DiskError(.cutShort, call: "pwritev", path: path))
    }

    private func fail(_ failure: DiskError) -> DiskError {
        state.withLock { state in
            state.syncFailure = state.syncFailure ?? failure
            state.persisted = .zero
            state.generation += 1
        }
        return failure
    }

    /// Makes sure that a file of which all bytes are here has them all: a program that cut it may have done so after the
    /// last write. Runs after the writes that were handed over before it.
    func checkLength(_ length: Int64) async throws(DiskError) {
        try await onWriteThread { () throws(DiskError) in
            if try self.file.size() < length { throw self.fail(DiskError(.cutShort, call: "fstat", path: self.path)) }
        }
    }

    /// Waits until what was handed over before is written.
    func drain() async {
        await withCheckedContinuation { continuation in writes.async { continuation.resume() } }
    }

    /// Gives the lock up once what was handed over is written. A sync or a digest may hold the file for longer.
    func unlockAfterWrites() {
        writes.async { [file] in file.unlock() }
    }

    /// Makes everything written so far durable. On failure the mark falls back to what an earlier sync vouched for, and every
    /// later sync fails too: the kernel reports a lost page once, and then knows nothing of it any more.
    func sync() async throws(DiskError) -> PersistedRanges {
        let (before, generation, earlier) = state.withLock { ($0.persisted.written, $0.generation, $0.syncFailure) }
        if let earlier { throw earlier }
        let failure: DiskError? = await withCheckedContinuation { continuation in
            executor.async(.utility) {
                do throws(DiskError) {
                    try self.file.sync()
                    continuation.resume(returning: nil)
                } catch { continuation.resume(returning: error) }
            }
        }
        return try state.withLock { state throws(DiskError) in
            if let failure {
                // Whatever was written meanwhile may be among what is lost.
                state.syncFailure = state.syncFailure ?? failure
                state.persisted.written = state.persisted.synced
            }
            // One that ran beside ours may have taken the kernel's only report.
            if let failure = state.syncFailure { throw failure }
            if state.generation == generation { state.persisted.synced.formUnion(before) }
            return state.persisted
        }
    }

    /// Cuts off what no sync has vouched for. Claims of it that a store still has are refused then, since the file is too short.
    func cutToSynced() async throws(DiskError) {
        try await onWriteThread { () throws(DiskError) in
            try self.file.truncate(self.state.withLock { $0.persisted.synced.prefix })
        }
    }

    func read(at offset: Int64, count: Int) async throws(DiskError) -> [UInt8] {
        try await onWriteThread { () throws(DiskError) in try self.file.read(at: offset, count: count) }
    }

    // MARK: Digests

    /// Keeps a digest from now on. What is already there is read back in the background.
    func keepDigest(_ algorithm: DownloadRequest.Checksum.Algorithm) {
        state.withLock { state in
            if state.digest?.algorithm != algorithm { state.digest = RunningDigest(algorithm) }
        }
        catchUp()
    }

    /// Reads back, in the background, what the digest has not seen of the bytes that are here without a gap: those of an
    /// earlier run, and those that a later connection wrote before the ones in front of them had come.
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
            // An error will come again, and be reported, when the digest is finished.
            try? digest.catchUp(
                with: file,
                written: { [weak self] in self?.persisted.prefix ?? 0 },
                isCancelled: { self == nil }
            )
            self?.state.withLock { $0.isCatchingUp = false }
        }
    }

    /// The digest of the whole file. Reads back whatever was not hashed while it was written.
    ///
    /// - Returns: nil when `isCancelled` turned true first.
    func digest(_ algorithm: DownloadRequest.Checksum.Algorithm, isCancelled: @escaping @Sendable () -> Bool)
        async throws(DiskError)
        -> DownloadRequest.Checksum?
    {
        let digest = state.withLock { state in
            if let digest = state.digest, digest.algorithm == algorithm { return digest }
            let digest = RunningDigest(algorithm)
            state.digest = digest
            return digest
        }
        return try await onWriteThread { () throws(DiskError) in
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

    /// Whether a piece that is here whole has its digest. Reads it back where it was not hashed while it was written.
    func isRight(piece: Int) async throws(DiskError) -> Bool {
        guard let pieces = state.withLock({ $0.pieces }) else { return false }
        return try await executor.run { () throws(DiskError) in try pieces.isRight(piece, in: self.file) }
    }

    /// Runs a blocking step after the writes that were handed over before it.
    func onWriteThread<Value: Sendable>(_ step: @escaping @Sendable () throws(DiskError) -> Value)
        async throws(DiskError) -> Value
    {
        let result: Result<Value, DiskError> = await withCheckedContinuation { continuation in
            writes.async {
                continuation.resume(returning: Result { () throws(DiskError) in try step() })
            }
        }
        return try result.get()
    }
}

extension [ByteBuffer] {
    /// What of these bytes, which belong at `offset`, is not here yet.
    fileprivate func parts(besides here: ByteSet, at offset: Int64) -> [(offset: Int64, batch: [ByteBuffer])] {
        var parts: [(Int64, [ByteBuffer])] = []
        var position = offset
        for buffer in self {
            let end = position + Int64(buffer.readableBytes)
            for range in ByteSet(position..<end).subtracting(here).ranges {
                let start = buffer.readerIndex + Int(range.lowerBound - position)
                let length = Int(range.upperBound - range.lowerBound)
                if let slice = buffer.getSlice(at: start, length: length) { parts.append((range.lowerBound, [slice])) }
            }
            position = end
        }
        return parts
    }
}
