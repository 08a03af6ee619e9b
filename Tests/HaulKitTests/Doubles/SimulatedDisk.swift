import NIOCore
import Synchronization

@testable import HaulCore
@testable import HaulKit

/// A disk in memory that may lose unsynced changes, in part or completely, at a power cut.
///
/// Each data write since the last sync of a file survives a power cut by chance, torn at any byte. Changes of names
/// survive in their order up to a random point, because file systems journal them.
final class SimulatedDisk: Disk {
    struct Write {
        var offset: Int
        var bytes: [UInt8]
    }
    struct Inode {
        var content: [UInt8] = []
        /// The bytes that survive a power cut for certain.
        var durable: [UInt8] = []
        var unsynced: [Write] = []
        var isLocked = false
        var modified: Int64 = 0
    }
    enum NameChange {
        case set(String, UInt64)
        case clear(String)
    }
    struct State {
        var inodes: [UInt64: Inode] = [:]
        var names: [String: UInt64] = [:]
        var durableNames: [String: UInt64] = [:]
        var unsyncedNames: [NameChange] = []
        var nextInode: UInt64 = 1
        var operations = 0
        var cutAt: Int?
        var isDead = false
        var boot = 1
        var free: Int64 = 1 << 40
        var total: Int64 = 1 << 41
        /// The size at which the disk is full; `nil` if the disk takes any amount.
        var capacity: Int64?
        var failures: [String: (after: Int, kind: DiskError.Kind)] = [:]
        var before: [String: @Sendable () -> Void] = [:]
        var random: SplitMix64
    }
    let state: Mutex<State>

    init(seed: UInt64) { state = Mutex(State(random: SplitMix64(seed: seed))) }

    // MARK: What tests do to it

    /// Cuts the power at the n-th modifying operation from now.
    func cutPower(at operation: Int) {
        state.withLock { state in
            state.operations = 0
            state.cutAt = operation
        }
    }

    /// Makes a later call of this name fail ("write", "sync", "rename", "create", "preallocate", "truncate",
    /// "syncFolder", "remove"), after `after` further calls that succeed.
    func fail(_ call: String, after: Int = 0, with kind: DiskError.Kind) {
        state.withLock { $0.failures[call] = (after, kind) }
    }

    /// Lets all calls succeed from now on.
    func succeed() {
        state.withLock { $0.failures = [:] }
    }

    /// Renames a file as another program would. The change is durable at once.
    func move(_ path: String, to target: String) {
        state.withLock { state in
            guard let number = state.names.removeValue(forKey: path) else { return }
            state.names[target] = number
            state.durableNames[path] = nil
            state.durableNames[target] = number
            state.unsyncedNames.append(.clear(path))
        }
    }

    /// Calls `work` just before the next file is locked, to act as another program.
    func beforeNextLock(_ work: @escaping @Sendable () -> Void) {
        beforeNext("lock", work)
    }

    /// Calls `work` just before the next call of this name ("lock", "rename", "remove", "write"), to act as another
    /// program.
    func beforeNext(_ call: String, _ work: @escaping @Sendable () -> Void) {
        state.withLock { $0.before[call] = work }
    }

    /// Sets the free space that the disk reports. The disk still takes any amount.
    func setFreeSpace(_ bytes: Int64, of total: Int64 = 1 << 41) {
        state.withLock { ($0.free, $0.total) = (bytes, total) }
    }

    /// Makes the disk full once its files have `bytes` bytes.
    func setCapacity(_ bytes: Int64, of total: Int64 = 1 << 41) {
        state.withLock { ($0.capacity, $0.total) = (bytes, total) }
    }

    /// Whether the power is cut. Until `restart` every operation fails.
    var isDead: Bool { state.withLock { $0.isDead } }
    var operations: Int { state.withLock { $0.operations } }

    /// Restores the state that survives a power cut.
    func restart() {
        state.withLock { state in
            state.cutAt = nil
            state.isDead = false
            state.boot += 1
            let surviving =
                state.unsyncedNames.isEmpty
                ? 0 : Int(state.random.next(upperBound: UInt64(state.unsyncedNames.count + 1)))
            for change in state.unsyncedNames.prefix(surviving) { Self.apply(change, &state.durableNames) }
            state.unsyncedNames = []
            state.names = state.durableNames
            for (number, inode) in state.inodes {
                var inode = inode
                for write in inode.unsynced where state.random.next(upperBound: UInt64(3)) > 0 {
                    let torn = state.random.next(upperBound: UInt64(2)) == 0
                    let length =
                        torn ? Int(state.random.next(upperBound: UInt64(write.bytes.count + 1))) : write.bytes.count
                    Self.apply(Write(offset: write.offset, bytes: Array(write.bytes.prefix(length))), &inode.durable)
                }
                inode.unsynced = []
                inode.content = inode.durable
                inode.isLocked = false
                state.inodes[number] = inode
            }
        }
    }

    func content(_ path: String) -> [UInt8]? {
        state.withLock { state in state.names[path].flatMap { state.inodes[$0]?.content } }
    }

    var paths: [String] { state.withLock { $0.names.keys.sorted() } }

    func put(_ bytes: [UInt8], at path: String) {
        state.withLock { state in
            let number = state.nextInode
            state.nextInode += 1
            state.inodes[number] = Inode(content: bytes, durable: bytes)
            state.names[path] = number
            state.durableNames[path] = number
        }
    }

    /// Gives a file a second name, as a user would.
    func link(_ path: String, as other: String) {
        state.withLock { state in
            guard let number = state.names[path] else { return }
            state.names[other] = number
            state.durableNames[other] = number
        }
    }

    /// Truncates a file durably, as another program would.
    func cut(_ path: String, to length: Int) {
        state.withLock { state in
            guard let number = state.names[path], var inode = state.inodes[number] else { return }
            inode.content = Array(inode.content.prefix(length))
            inode.durable = Array(inode.durable.prefix(length))
            inode.unsynced = []
            state.inodes[number] = inode
        }
    }

    // MARK: Disk

    var bootID: String { state.withLock { "boot \($0.boot)" } }

    func create(_ path: String) throws(DiskError) -> any DiskFile {
        let number: UInt64 = try change("create", path) { state throws(DiskError) in
            guard state.names[path] == nil else { throw DiskError(.alreadyExists, call: "open", path: path) }
            let number = state.nextInode
            state.nextInode += 1
            state.inodes[number] = Inode()
            state.names[path] = number
            state.unsyncedNames.append(.set(path, number))
            return number
        }
        return File(self, number, path)
    }

    func open(_ path: String) throws(DiskError) -> any DiskFile {
        let number: UInt64 = try look(path) { state throws(DiskError) in
            guard let number = state.names[path] else { throw DiskError(.notFound, call: "open", path: path) }
            return number
        }
        return File(self, number, path)
    }

    func openForReading(_ path: String) throws(DiskError) -> any DiskFile { try open(path) }

    func status(_ path: String) throws(DiskError) -> FileStatus? {
        try look(path) { state throws(DiskError) in state.names[path].flatMap { Self.status($0, state) } }
    }

    func rename(_ path: String, to target: String, replacing: Bool) throws(DiskError) {
        try change("rename", path) { state throws(DiskError) in
            guard let number = state.names[path] else { throw DiskError(.notFound, call: "rename", path: path) }
            guard replacing || state.names[target] == nil else {
                throw DiskError(.alreadyExists, call: "rename", path: target)
            }
            state.names[path] = nil
            state.names[target] = number
            // On a file system without a rename that never replaces, a link and an unlink replace the rename, and both
            // names may be left.
            state.unsyncedNames.append(.set(target, number))
            state.unsyncedNames.append(.clear(path))
        }
    }

    func remove(_ path: String) throws(DiskError) {
        try change("remove", path) { state throws(DiskError) in
            guard state.names.removeValue(forKey: path) != nil else {
                throw DiskError(.notFound, call: "unlink", path: path)
            }
            state.unsyncedNames.append(.clear(path))
        }
    }

    func syncFolder(_ path: String) throws(DiskError) {
        try change("syncFolder", path) { state throws(DiskError) in
            for change in state.unsyncedNames { Self.apply(change, &state.durableNames) }
            state.unsyncedNames = []
        }
    }

    func createFolder(_ path: String) throws(DiskError) {}

    func freeSpace(at path: String) throws(DiskError) -> VolumeSpace? {
        try look(path) { state throws(DiskError) in
            let free = state.capacity.map { max(0, $0 - Self.used(state)) } ?? state.free
            return VolumeSpace(free: free, total: state.total, volume: 1)
        }
    }

    // MARK: Inside

    static func used(_ state: State) -> Int64 {
        state.names.values.reduce(0) { $0 + Int64(state.inodes[$1]?.content.count ?? 0) }
    }

    func look<Value>(_ path: String, _ body: (inout State) throws(DiskError) -> Value) throws(DiskError)
        -> Value
    {
        try state.withLock { state throws(DiskError) in
            guard !state.isDead else { throw DiskError(.inputOutput, call: "power", path: path) }
            return try body(&state)
        }
    }

    /// Counts and performs one modifying operation. Cuts the power at the operation with the number `cutAt`.
    func change<Value>(_ call: String, _ path: String, _ body: (inout State) throws(DiskError) -> Value)
        throws(DiskError) -> Value
    {
        state.withLock { $0.before.removeValue(forKey: call) }?()
        return try look(path) { state throws(DiskError) in
            if let failure = state.failures[call] {
                state.failures[call] = failure.after > 0 ? (failure.after - 1, failure.kind) : nil
                if failure.after == 0 { throw DiskError(failure.kind, call: call, path: path) }
            }
            state.operations += 1
            if state.operations == state.cutAt {
                // The interrupted operation itself takes effect by chance.
                if state.random.next(upperBound: UInt64(2)) == 0 { _ = try? body(&state) }
                state.isDead = true
                throw DiskError(.inputOutput, call: "power", path: path)
            }
            return try body(&state)
        }
    }

    private static func apply(_ change: NameChange, _ names: inout [String: UInt64]) {
        switch change {
        case .set(let path, let number): names[path] = number
        case .clear(let path): names[path] = nil
        }
    }

    static func apply(_ write: Write, _ content: inout [UInt8]) {
        content.overwrite(with: write.bytes, at: write.offset)
    }

    static func status(_ number: UInt64, _ state: State) -> FileStatus? {
        guard let inode = state.inodes[number] else { return nil }
        return FileStatus(
            kind: .file,
            size: Int64(inode.content.count),
            allocated: Int64(inode.content.count),
            device: 1,
            inode: number,
            modified: inode.modified,
            links: UInt64(state.names.values.count { $0 == number })
        )
    }
}

extension Downloader {
    /// Makes a downloader with simulated files and the real clock.
    init(
        over disk: SimulatedDisk,
        _ reader: any SourceReading,
        _ store: DownloadStore,
        _ configuration: Downloader.Configuration
    ) async throws(DownloadError) {
        try await self.init(
            configuration,
            readers: SourceReaders(reader),
            disk: disk,
            store: store,
            time: EngineClock(ContinuousClock()),
            seed: 1
        )
    }
}
