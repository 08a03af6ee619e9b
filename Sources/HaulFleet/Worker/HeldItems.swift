/// Items that a worker holds: their stages, the lines in which they wait, and the destination's work on them.
struct HeldItems: Sendable, Equatable {
    enum DestinationAnswer: Sendable {
        case expected
        /// The worker has given the item up. Its bytes may be discarded now.
        case abandoned
        case unexpected
    }

    private var items: [LeaseKey: HeldItem] = [:]
    /// Staged files that wait for their preparation.
    private var awaitingPreparation: [LeaseKey] = []
    /// Prepared files that wait for the gate call, which confirms their leases before publication. In order of arrival.
    private var awaitingGate: [LeaseKey] = []
    /// Published to a shard together, as soon as they fill one. In order of arrival.
    private var packed = PackedFiles()
    /// Items of shards: those that wait for one, and those whose shard is being published. They take no place from other
    /// items.
    private var inShards: Set<LeaseKey> = []
    /// Items that the destination is preparing or publishing.
    private var inDestination: Set<LeaseKey> = []
    /// Items of `inDestination` that the worker has given up.
    private var abandoned: Set<LeaseKey> = []

    var count: Int { items.count }
    var isEmpty: Bool { items.isEmpty }
    /// Number of held items that are not in a shard.
    var activeCount: Int { items.count - inShards.count }
    subscript(key: LeaseKey) -> HeldItem? { items[key] }

    var sortedKeys: [LeaseKey] { items.keys.sorted() }
    var isAnyPublishing: Bool { items.values.contains(where: \.stage.isPublishing) }

    /// Adds an item that waits for its download.
    mutating func add(_ lease: LeasedItem) { items[lease.key] = HeldItem(lease: lease, stage: .waiting) }

    /// - Returns: the lease of the item; `nil` if the worker does not hold it.
    mutating func beginDownload(_ key: LeaseKey) -> LeasedItem? {
        items[key]?.stage = .downloading
        return items[key]?.lease
    }

    /// Ends the work on an item, so that only its report remains.
    ///
    /// - Returns: `false` if the work had ended or the worker does not hold the item.
    mutating func finish(_ key: LeaseKey) -> Bool {
        guard let stage = items[key]?.stage, stage != .reporting else { return false }
        leaveLine(key, stage)
        items[key]?.stage = .reporting
        return true
    }

    mutating func remove(_ key: LeaseKey) -> HeldItem? {
        guard let item = items.removeValue(forKey: key) else { return nil }
        inShards.remove(key)
        leaveLine(key, item.stage)
        return item
    }

    /// - Returns: `false` if no report of this item was due.
    mutating func removeReported(_ key: LeaseKey) -> Bool {
        guard items[key]?.stage == .reporting else { return false }
        items[key] = nil
        inShards.remove(key)
        return true
    }

    /// Removes all items. The destination may still work on some.
    ///
    /// - Returns: the removed items in the order of their keys.
    mutating func removeAll() -> [HeldItem] {
        let removed = items.values.sorted { $0.lease.key < $1.lease.key }
        (items, awaitingPreparation, awaitingGate) = ([:], [], [])
        (packed, inShards) = (PackedFiles(), [])
        return removed
    }

    private mutating func leaveLine(_ key: LeaseKey, _ stage: HeldItem.Stage) {
        switch stage {
        case .staged: awaitingPreparation.removeAll { $0 == key }
        case .prepared: awaitingGate.removeAll { $0 == key }
        case .packed(let file): packed.remove(key, bytes: file.file.bytes)
        default: break
        }
    }

    // MARK: Preparation

    var awaitsPreparation: Bool { !awaitingPreparation.isEmpty }

    mutating func awaitPreparation(_ file: StagedFile) {
        items[file.key]?.stage = .staged(file)
        awaitingPreparation.append(file.key)
    }

    /// Takes the staged files out of their line.
    mutating func takeStaged() -> [StagedFile] {
        defer { awaitingPreparation = [] }
        return awaitingPreparation.compactMap { key in
            if case .staged(let file) = items[key]?.stage { file } else { nil }
        }
    }

    mutating func beginPreparation(_ file: StagedFile) {
        items[file.key]?.stage = .preparing(file)
        inDestination.insert(file.key)
    }

    // MARK: Gate and publication

    var awaitingGateCount: Int { awaitingGate.count }

    mutating func awaitGate(_ key: LeaseKey, _ file: PreparedFile) {
        items[key]?.stage = .prepared(file)
        awaitingGate.append(key)
    }

    /// Takes up to `limit` items out of the line for the gate.
    mutating func takeForGate(_ limit: Int) -> [LeaseKey] {
        let keys = Array(awaitingGate.prefix(limit))
        awaitingGate.removeFirst(keys.count)
        return keys
    }

    /// Puts items back at the head of the line for the gate, unless their work has ended meanwhile.
    mutating func returnToGate(_ keys: [LeaseKey]) {
        awaitingGate = keys.filter { items[$0]?.stage.isPrepared == true } + awaitingGate
    }

    /// - Returns: the prepared file; `nil` if the item is not prepared.
    mutating func beginPublication(_ key: LeaseKey) -> PreparedFile? {
        guard case .prepared(let file) = items[key]?.stage else { return nil }
        items[key]?.stage = .publishing(file.file)
        inDestination.insert(key)
        return file
    }

    // MARK: Shards

    var packedBytes: Int64 { packed.bytes }
    /// Time since which the first of the packed files waits; `nil` if none waits.
    var packedSince: Duration? { packed.since }
    /// Whether all held items wait for their shard.
    var isAllPacked: Bool { packed.count == items.count }

    /// Lets a prepared file wait for its shard.
    mutating func pack(_ key: LeaseKey, at now: Duration) {
        guard case .prepared(let file) = items[key]?.stage else { return }
        items[key]?.stage = .packed(file)
        packed.append(key, bytes: file.file.bytes, at: now)
        inShards.insert(key)
    }

    /// Takes files out of the line, until they have `bytes` bytes together, and begins their publication.
    mutating func takePacked(_ bytes: Int64) -> [PreparedFile] {
        var (files, taken) = ([PreparedFile](), Int64(0))
        while taken < bytes, let key = packed.first, case .packed(let file) = items[key]?.stage {
            packed.removeFirst(bytes: file.file.bytes)
            items[key]?.stage = .publishing(file.file)
            inDestination.insert(key)
            files.append(file)
            taken += file.file.bytes
        }
        return files
    }

    // MARK: Work of the destination

    func isInDestination(_ key: LeaseKey) -> Bool { inDestination.contains(key) }

    /// Ends the destination's work on an item.
    mutating func destinationAnswered(_ key: LeaseKey) -> DestinationAnswer {
        guard inDestination.remove(key) != nil else { return .unexpected }
        return abandoned.remove(key) == nil ? .expected : .abandoned
    }

    /// Gives an item up.
    ///
    /// - Returns: whether its bytes may be discarded now. If not, ``destinationAnswered(_:)`` says when.
    mutating func abandon(_ key: LeaseKey) -> Bool {
        guard inDestination.contains(key) else { return true }
        abandoned.insert(key)
        return false
    }
}

struct HeldItem: Sendable, Equatable {
    enum Stage: Sendable, Equatable {
        /// Not begun, because the lease was in doubt at the claim.
        case waiting
        case downloading
        /// Complete in the staging folder. The preparation has not begun or must be repeated.
        case staged(StagedFile)
        case preparing(StagedFile)
        /// Waits for the gate or its answer.
        case prepared(PreparedFile)
        /// Waits for the other files of its shard. The gate has let it pass.
        case packed(PreparedFile)
        case publishing(StagedFile)
        case reporting
    }

    let lease: LeasedItem
    var stage: Stage
}

extension HeldItem.Stage {
    /// Whether the stage moves bytes.
    var isTransfer: Bool {
        switch self {
        case .downloading, .preparing: true
        default: false
        }
    }

    var isPrepared: Bool { if case .prepared = self { true } else { false } }
    var isPublishing: Bool { if case .publishing = self { true } else { false } }
}

/// Line of the files that wait for their shard.
private struct PackedFiles: Sendable, Equatable {
    private var keys: [LeaseKey] = []
    /// Number of keys at the head of ``keys`` that were taken.
    private var taken = 0
    private(set) var bytes: Int64 = 0
    /// Time at which the first one of the line came, or at which the line became shorter.
    private(set) var since: Duration?
    private var latest = Duration.zero

    var count: Int { keys.count - taken }
    var first: LeaseKey? { taken < keys.count ? keys[taken] : nil }

    mutating func append(_ key: LeaseKey, bytes: Int64, at now: Duration) {
        keys.append(key)
        self.bytes += bytes
        (latest, since) = (now, since ?? now)
    }

    mutating func removeFirst(bytes: Int64) {
        taken += 1
        ended(bytes)
        if taken == keys.count { (keys, taken) = ([], 0) }
    }

    mutating func remove(_ key: LeaseKey, bytes: Int64) {
        keys.removeSubrange(..<taken)
        taken = 0
        keys.removeAll { $0 == key }
        ended(bytes)
    }

    private mutating func ended(_ bytes: Int64) {
        self.bytes -= bytes
        since = count == 0 ? nil : latest
    }
}
