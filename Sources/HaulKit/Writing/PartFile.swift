internal import Dispatch
internal import NIOCore
internal import Synchronization

/// A partial file during writing: the locked file, its write thread, and its written and synced ranges.
///
/// The write thread runs the writes of all connections one after another and may block. A sync runs beside the writes
/// and covers only bytes that were written before it began. ``SpaceMonitor`` preallocates the space of a file of known
/// length on the disk.
final class PartFile: Sendable {
    let file: any DiskFile
    let executor: BlockingExecutor
    private let now: @Sendable () -> Instant
    private let writes: SerialQueue
    struct State {
        var persisted: PersistedRanges
        /// Digest of the whole file, if one is wanted that can be computed before the length is known.
        var digest: RunningDigest?
        var isCatchingUp = false
        /// Digests of the pieces, if they are known beforehand.
        var pieces: PieceDigests?
        /// Error of the first failed sync or length check. After it, no byte written since the last good sync may be
        /// claimed, and writes fail.
        var syncFailure: DiskError?
        /// Counts how often bytes were given up. A sync of an earlier generation covers no bytes of a later one.
        var generation = 0
        /// Counts how often the file was started over.
        var version = 0
        /// Bytes written since the file was opened or started over, and the count at which `onMilestone` is called
        /// next.
        var written: Int64 = 0
        var milestone: Int64 = 0
        var waiters = WriteWaiters()
        var busy = BusyTime()
        var seams = Seams()
        /// Whether bytes that come a second time are compared with the first ones.
        var comparesRepeats = false
        /// Whether two connections have brought different bytes. No further byte is claimed then.
        var hasTwoVersions = false
        /// Decides how much space is allocated beyond the present end of the file. `nil` before `allocateAhead()`, and
        /// after the file system has refused an allocation.
        var ahead: AheadAllocation?
    }
    let state: Mutex<State>
    /// Called after the first write since the file was opened or started over, and after each further
    /// `milestoneDistance` bytes. The first bytes should be noted before the next tick of ``ProgressTicker``, and on a
    /// fast line many bytes arrive between two ticks.
    private let onMilestone: @Sendable () -> Void
    private static let milestoneDistance: Int64 = 16 << 20

    /// Returns the number of bytes until the next milestone. It is smaller during the first pieces, so that they are
    /// checked as soon as they are complete and a source of wrong pieces cannot send many.
    private static func milestoneDistance(_ state: State) -> Int64 {
        guard let pieces = state.pieces, state.written / 4 < pieces.hashes.pieceLength else { return milestoneDistance }
        return min(milestoneDistance, pieces.hashes.pieceLength / 2)
    }

    init(
        _ file: any DiskFile,
        persisted: PersistedRanges,
        executor: BlockingExecutor = .system,
        now: @escaping @Sendable () -> Instant = EngineClock(ContinuousClock()).now,
        onMilestone: @escaping @Sendable () -> Void
    ) {
        self.file = file
        self.executor = executor
        self.now = now
        self.onMilestone = onMilestone
        writes = executor.makeFileQueue()
        state = Mutex(State(persisted: persisted))
    }

    var path: String { file.path }
    /// Error of the first failed sync or length check since the last start-over.
    var syncFailure: DiskError? { state.withLock(\.syncFailure) }
    var persisted: PersistedRanges { state.withLock { $0.persisted } }
    /// Time that the write thread has spent on the file, since it was opened.
    var writing: Duration { state.withLock { $0.busy.total(at: now()) } }
    /// Number that changes with each start-over.
    var version: Int { state.withLock(\.version) }

    /// Truncates the file and forgets every byte. Before the call, the caller has made the store forget them.
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
                $0.seams = Seams()
                ($0.comparesRepeats, $0.hasTwoVersions) = (false, false)
                if $0.ahead != nil { $0.ahead = AheadAllocation() }
                if let algorithm = $0.digest?.algorithm { $0.digest = RunningDigest(algorithm) }
                $0.pieces?.startOver()
            }
        }
        state.withLock { $0.waiters.removeAll() }.resume()
    }

    /// Forgets the bytes of `range`, which are fetched again.
    func forget(_ range: Range<Int64>) {
        state.withLock { state in
            state.persisted.written.remove(contentsOf: range)
            state.persisted.synced.remove(contentsOf: range)
            state.generation += 1
            // A digest that covers bytes of `range` is wrong and is computed again from the disk. `catchUp()` may be
            // hashing a block of `range` now.
            if let digest = state.digest, digest.position > range.lowerBound || state.isCatchingUp {
                state.digest = RunningDigest(digest.algorithm)
            }
        }
    }

    // MARK: Writing

    /// Writes a batch at `offset` on the write thread, and adds it to the written ranges.
    ///
    /// Does not write bytes that are already claimed. Another connection brought those, and they may have been compared
    /// with a digest since. Two connections can send the same bytes for a moment, after one was shortened or during a
    /// hedge.
    ///
    /// - Parameter isWanted: asked on the write thread. Nothing is written if it returns `false`.
    func write(
        _ batch: [ByteBuffer],
        at offset: Int64,
        isWanted: @escaping @Sendable () -> Bool = { true },
        done: @escaping @Sendable (WriteFailure?) -> Void
    ) {
        writes.async {
            guard isWanted() else { return done(nil) }
            self.state.withLock { $0.busy.begin(at: self.now()) }
            let failure = self.write(batch, at: offset)
            self.state.withLock { $0.busy.end(at: self.now()) }
            done(failure)
        }
    }

    /// Writes a batch immediately if the file is in memory.
    ///
    /// - Returns: `nil` if the file is on the disk; nothing has been written then.
    func writeInMemory(_ batch: [ByteBuffer], at offset: Int64) -> Result<Void, WriteFailure>? {
        inMemory { write(batch, at: offset) }
    }

    private func write(_ batch: [ByteBuffer], at offset: Int64) -> WriteFailure? {
        let length = batch.reduce(0) { $0 + Int64($1.readableBytes) }
        let (here, comparesRepeats) = state.withLock { ($0.persisted.written, $0.comparesRepeats) }
        let fresh =
            here.intersects(offset..<offset + length) ? batch.parts(besides: here, at: offset) : [(offset, batch)]
        do throws(DiskError) {
            if let failure = state.withLock({ $0.syncFailure }) { throw failure }
            try checkLength(here)
            if comparesRepeats {
                let again = here.intersection(ByteSet(offset..<offset + length))
                guard try agree(batch, at: offset, with: again) else { return noteTwoVersions() }
            }
            allocateAhead(of: offset + length)
            for (offset, batch) in fresh { try file.write(batch, at: offset) }
        } catch { return .disk(error) }
        let (digest, pieces) = state.withLock { ($0.digest, $0.pieces) }
        for (offset, batch) in fresh {
            digest?.update(batch, at: offset)
            pieces?.update(batch, at: offset)
        }
        let claimed: (isMilestone: Bool, woken: WriteWaiters.Woken?)? = state.withLock { state in
            guard !state.hasTwoVersions, fresh.allSatisfy({ state.seams.agree(with: $0.batch, at: $0.offset) }) else {
                return nil
            }
            // Adds only the bytes of this write. Earlier bytes may have been found wrong in the meantime.
            for (offset, batch) in fresh where state.syncFailure == nil {
                let length = batch.reduce(0) { $0 + Int64($1.readableBytes) }
                if length > 0 { state.persisted.written.insert(contentsOf: offset..<offset + length) }
            }
            state.seams.forget(state.persisted.written)
            state.written += length
            let woken = state.waiters.removeServed(state.persisted.written)
            guard state.written >= state.milestone else { return (false, woken) }
            state.milestone = state.written + Self.milestoneDistance(state)
            return (true, woken)
        }
        guard let claimed else { return noteTwoVersions() }
        claimed.woken?.resume()
        if claimed.isMilestone { onMilestone() }
        return nil
    }

    /// Compares bytes that a connection repeats with those that are written, on the write thread. Compares the others as
    /// soon as another connection brings them.
    func compareSeam(_ bytes: [UInt8], at offset: Int64, done: @escaping @Sendable (WriteFailure?) -> Void) {
        writes.async { done(self.compareSeam(bytes, at: offset)) }
    }

    /// Compares repeated bytes immediately if the file is in memory, because the bytes behind them are claimed
    /// immediately too.
    ///
    /// - Returns: `nil` if the file is on the disk; nothing has been compared then.
    func compareSeamInMemory(_ bytes: [UInt8], at offset: Int64) -> Result<Void, WriteFailure>? {
        inMemory { compareSeam(bytes, at: offset) }
    }

    private func inMemory(_ step: () -> WriteFailure?) -> Result<Void, WriteFailure>? {
        guard file.isInMemory else { return nil }
        return step().map { .failure($0) } ?? .success(())
    }

    private func compareSeam(_ bytes: [UInt8], at offset: Int64) -> WriteFailure? {
        do throws(DiskError) { return try agrees(bytes, at: offset) ? nil : noteTwoVersions() } catch {
            return .disk(error)
        }
    }

    private func noteTwoVersions() -> WriteFailure {
        state.withLock { $0.hasTwoVersions = true }
        return .versionsDiffer
    }

    /// Compares bytes that come a second time from now on, because no strong validator vouches for them.
    func compareRepeats() { state.withLock { $0.comparesRepeats = true } }

    /// Returns whether `batch` has the bytes that are written in `again`.
    private func agree(_ batch: [ByteBuffer], at offset: Int64, with again: ByteSet) throws(DiskError) -> Bool {
        for part in again.ranges {
            let written = try file.read(at: part.lowerBound, count: part.count)
            guard written.count == part.count, batch.agree(at: offset, with: written, at: part.lowerBound) else {
                return false
            }
        }
        return true
    }

    private func agrees(_ bytes: [UInt8], at offset: Int64) throws(DiskError) -> Bool {
        let range = offset..<offset + Int64(bytes.count)
        // Keeps the bytes first, so that a write beside this one compares what it adds from now on.
        let here: ByteSet? = state.withLock { state in
            state.seams.keep(bytes, at: offset) ? state.persisted.written.intersection(ByteSet(range)) : nil
        }
        guard let here else { return false }
        try checkLength(here)
        guard try agree([ByteBuffer(bytes: bytes)], at: offset, with: here) else { return false }
        state.withLock { $0.seams.forget($0.persisted.written) }
        return true
    }

    /// Allocates space ahead of the end from now on, because the length of the file is unknown.
    func allocateAhead() { state.withLock { $0.ahead = $0.ahead ?? AheadAllocation() } }

    private func allocateAhead(of end: Int64) {
        guard let length = state.withLock({ $0.ahead?.length(forGrowthTo: end) }) else { return }
        // If nothing more can be allocated, the writes may still succeed, and they report a full disk.
        do throws(DiskError) { try file.preallocate(length) } catch { state.withLock { $0.ahead = nil } }
    }

    /// Checks that no other program has cut the file. A write beyond the end of a cut file would leave a hole that
    /// could not be detected later.
    ///
    /// - Throws: an error of kind `cutShort`. After it, no byte of the file may be relied on, and writes fail.
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

    /// Checks that a complete file has at least `length` bytes. Another program may have cut the file after the last
    /// write. Runs after the writes that were handed over before the call.
    func checkLength(_ length: Int64) async throws(DiskError) {
        try await onWriteThread { () throws(DiskError) in
            if try self.file.size() < length { throw self.fail(DiskError(.cutShort, call: "fstat", path: self.path)) }
        }
    }

    /// Waits until all writes that were handed over before the call have finished.
    func drain() async {
        await withCheckedContinuation { continuation in writes.async { continuation.resume() } }
    }

    /// Releases the lock after the writes that were handed over. A sync or a digest may keep the file open for longer.
    func unlockAfterWrites() {
        writes.async { [file] in file.unlock() }
    }

    /// Syncs everything that was written before the call.
    ///
    /// On failure the written ranges fall back to the synced ranges, and every later sync fails too. The kernel reports
    /// a lost page only once.
    ///
    /// - Returns: the ranges after the sync.
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
                // Bytes written during the failed sync may also be lost.
                state.syncFailure = state.syncFailure ?? failure
                state.persisted.written = state.persisted.synced
            }
            // A concurrent sync may have received the kernel's only report of the failure.
            if let failure = state.syncFailure { throw failure }
            if state.generation == generation { state.persisted.synced.formUnion(before) }
            return state.persisted
        }
    }

    /// Truncates the file to its synced in-order prefix. If the store still claims bytes beyond this prefix, the next
    /// run refuses the claims, because the file is too short for them.
    func cutToSynced() async throws(DiskError) {
        try await onWriteThread { () throws(DiskError) in
            try self.file.truncate(self.state.withLock { $0.persisted.synced.prefix })
        }
    }

    func read(at offset: Int64, count: Int) async throws(DiskError) -> [UInt8] {
        try await onWriteThread { () throws(DiskError) in try self.file.read(at: offset, count: count) }
    }

    /// Runs a blocking step on the write thread, after the writes that were handed over before the call.
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
    /// Returns the parts of these bytes that `here` does not contain; the first byte belongs at `offset`.
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
