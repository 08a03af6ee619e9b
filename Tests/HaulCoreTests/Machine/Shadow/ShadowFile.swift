@testable import HaulCore

/// A partial file that records the version of the remote file for each byte.
struct ShadowFile: Equatable {
    /// The version of bytes that were written but lost before a sync.
    static let garbage = -1

    /// The bytes of each version.
    private var origins: [Int: ByteSet] = [:]
    /// The ranges that the engine's `PartFile` would report.
    private(set) var persisted = PersistedRanges.zero
    /// Whether a sync has failed. The file then takes no more bytes.
    private(set) var isBroken = false

    /// Writes bytes, except where the file already claims some: those may have been compared with a digest.
    mutating func write(_ range: Range<Int64>, of version: Int) {
        guard !range.isEmpty, !isBroken else { return }
        let fresh = ByteSet(range).subtracting(persisted.written)
        for other in origins.keys where other != version { origins[other]?.subtract(fresh) }
        origins[version, default: ByteSet()].formUnion(fresh)
        persisted.written.formUnion(fresh)
    }

    /// Stops claiming the bytes, but leaves them in the file.
    mutating func forget(_ range: Range<Int64>) {
        persisted.written.remove(contentsOf: range)
        persisted.synced.remove(contentsOf: range)
    }

    mutating func startOver() { self = ShadowFile() }

    mutating func sync() {
        if !isBroken { persisted.synced = persisted.written }
    }

    /// Simulates a failed sync: unsynced bytes may have any value.
    mutating func failSync() {
        loseUnsynced()
        isBroken = true
    }

    /// Simulates a power cut: unsynced bytes may have any value.
    mutating func loseUnsynced() {
        let lost = everything.subtracting(persisted.synced)
        for version in origins.keys { origins[version]?.subtract(lost) }
        origins[Self.garbage, default: ByteSet()].formUnion(lost)
        persisted.written = persisted.synced
    }

    /// Reopens the file with the ranges that the store claims.
    mutating func reopen(_ claim: PersistedRanges) {
        persisted = claim
        isBroken = false
    }

    /// All bytes of the file, claimed or not.
    private var everything: ByteSet { origins.values.reduce(into: ByteSet()) { $0.formUnion($1) } }

    /// Returns the versions of these bytes.
    func origins(in bytes: ByteSet) -> [Int: ByteSet] {
        origins.mapValues { $0.intersection(bytes) }.filter { !$0.value.isEmpty }
    }

    func versions(in bytes: ByteSet) -> Set<Int> {
        Set(origins.filter { !$0.value.intersection(bytes).isEmpty }.map(\.key))
    }

    func versions(in range: Range<Int64>) -> Set<Int> { versions(in: ByteSet(range)) }

    /// Returns whether all these bytes were ever written, even if they are lost now.
    func has(_ bytes: ByteSet) -> Bool { bytes.subtracting(everything).isEmpty }
}
