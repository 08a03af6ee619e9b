internal import Dispatch
internal import NIOCore
internal import Synchronization

/// A partial file while it is being written: the locked file, its write thread, and how far the bytes have come.
///
/// Writes run one after another on a thread of their own; a sync runs beside them, and vouches only for what was
/// written before it began.
final class PartFile: Sendable {
    typealias Mark = DownloadMachine.Mark

    let file: any DiskFile
    private let writes: DispatchQueue
    private struct State {
        var mark: Mark
        /// The part's digest, when one is wanted.
        var digest: RunningDigest?
        /// A sync failed: nothing written since the last good one may be claimed, and nothing more is taken.
        var syncFailure: DiskError?
        /// Counts the times that everything was forgotten: a sync from before vouches for nothing after.
        var generation = 0
        /// The next position that is worth a mark of its own.
        var milestone: Int64 = 0
    }
    private let state: Mutex<State>
    /// Called when the first bytes of this opening are written, and each time `milestoneDistance` more are: the first mark
    /// should not wait for the next tick, and on a fast line a tick is a lot of bytes.
    private let onMilestone: @Sendable () -> Void
    private static let milestoneDistance: Int64 = 16 << 20

    init(_ file: any DiskFile, mark: Mark, onMilestone: @escaping @Sendable () -> Void) {
        self.file = file
        self.onMilestone = onMilestone
        writes = DispatchQueue(label: "haul.write", qos: .userInitiated)
        state = Mutex(State(mark: mark))
    }

    var path: String { file.path }
    /// The first sync that failed, if one did.
    var syncFailure: DiskError? { state.withLock(\.syncFailure) }
    var mark: Mark { state.withLock { $0.mark } }

    /// Forgets every byte; the caller has made the store forget them first.
    func startOver() async throws(DiskError) {
        try await onWriteThread { () throws(DiskError) in
            try self.file.truncate(0)
            self.state.withLock {
                $0.mark = .zero
                $0.milestone = 0
                $0.generation += 1
                $0.syncFailure = nil
                if let algorithm = $0.digest?.algorithm { $0.digest = RunningDigest(algorithm) }
            }
        }
    }

    /// Keeps a digest from now on. What is already there is read back in the background.
    func keepDigest(_ algorithm: Checksum.Algorithm) {
        let digest: RunningDigest? = state.withLock {
            guard $0.digest?.algorithm != algorithm else { return nil }
            $0.digest = RunningDigest(algorithm)
            return $0.mark.written > 0 ? $0.digest : nil
        }
        guard let digest else { return }
        DispatchQueue.global(qos: .utility).async { [weak self] in
            guard let file = self?.file else { return }
            // An error will come again, and be reported, when the digest is finished.
            try? digest.catchUp(
                with: file,
                written: { [weak self] in self?.mark.written ?? 0 },
                isCancelled: { self == nil }
            )
        }
    }

    /// Writes a batch at `offset` on the write thread, and raises the mark if it continues it.
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
        do throws(DiskError) {
            if let failure = state.withLock({ $0.syncFailure }) { throw failure }
            try file.write(batch, at: offset)
        } catch { return error }
        let length = batch.reduce(0) { $0 + Int64($1.readableBytes) }
        let digest = state.withLock { $0.digest }
        digest?.update(batch, at: offset)
        let isMilestone = state.withLock { state in
            if state.syncFailure == nil, state.mark.written == offset { state.mark.written += length }
            guard state.mark.written >= state.milestone else { return false }
            state.milestone = state.mark.written + Self.milestoneDistance
            return true
        }
        if isMilestone { onMilestone() }
        return nil
    }

    /// Waits until what was handed over before is written.
    func drain() async {
        await withCheckedContinuation { continuation in writes.async { continuation.resume() } }
    }

    /// Makes everything written so far durable. On failure the mark falls back to what an earlier sync vouched for, and every
    /// later sync fails too: the kernel reports a lost page once, and then knows nothing of it any more.
    func sync() async throws(DiskError) -> Mark {
        let (before, generation, earlier) = state.withLock { ($0.mark.written, $0.generation, $0.syncFailure) }
        if let earlier { throw earlier }
        let failure: DiskError? = await withCheckedContinuation { continuation in
            DispatchQueue.global(qos: .utility).async {
                do throws(DiskError) {
                    try self.file.sync()
                    continuation.resume(returning: nil)
                } catch { continuation.resume(returning: error) }
            }
        }
        return try state.withLock { state throws(DiskError) in
            if let failure, state.generation == generation {
                state.syncFailure = state.syncFailure ?? failure
                state.mark.written = state.mark.synced
            }
            // One that ran beside ours may have taken the kernel's only report.
            if let failure = state.syncFailure ?? failure { throw failure }
            if state.generation == generation { state.mark.synced = max(state.mark.synced, before) }
            return state.mark
        }
    }

    func read(at offset: Int64, count: Int) async throws(DiskError) -> [UInt8] {
        try await onWriteThread { () throws(DiskError) in try self.file.read(at: offset, count: count) }
    }

    /// The digest of the whole file. Reads back whatever was not hashed while it was written.
    ///
    /// - Returns: nil when `isCancelled` turned true first.
    func digest(_ algorithm: Checksum.Algorithm, isCancelled: @escaping @Sendable () -> Bool) async throws(DiskError)
        -> Checksum?
    {
        let digest = state.withLock { state in
            if let digest = state.digest, digest.algorithm == algorithm { return digest }
            let digest = RunningDigest(algorithm)
            state.digest = digest
            return digest
        }
        return try await onWriteThread { () throws(DiskError) in
            try digest.catchUp(with: self.file, written: { self.mark.written }, isCancelled: isCancelled)
            return isCancelled() ? nil : digest.finish()
        }
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
