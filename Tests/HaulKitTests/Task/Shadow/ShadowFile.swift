@testable import HaulCore
@testable import HaulKit

/// A partial file that knows of every byte which version of the remote file it came from.
struct ShadowFile: Equatable {
    /// The version of bytes that nobody can vouch for: written, and lost before they were synced.
    static let garbage = -1

    /// Which bytes are of which version.
    private var origins: [Int: ByteSet] = [:]
    /// What the engine's `PartFile` would say.
    private(set) var persisted = PersistedRanges.zero
    /// A sync failed: nothing more is taken.
    private(set) var isBroken = false

    /// What is there and claimed already stays as it is: it may have been compared with a digest.
    mutating func write(_ range: Range<Int64>, of version: Int) {
        guard !range.isEmpty, !isBroken else { return }
        let fresh = ByteSet(range).subtracting(persisted.written)
        for other in origins.keys where other != version { origins[other]?.subtract(fresh) }
        origins[version, default: ByteSet()].formUnion(fresh)
        persisted.written.formUnion(fresh)
    }

    /// The bytes stay where they are, and are claimed no more.
    mutating func forget(_ range: Range<Int64>) {
        persisted.written.remove(contentsOf: range)
        persisted.synced.remove(contentsOf: range)
    }

    mutating func startOver() { self = ShadowFile() }

    mutating func sync() {
        if !isBroken { persisted.synced = persisted.written }
    }

    /// A sync failed: what was not synced may be anything.
    mutating func failSync() {
        loseUnsynced()
        isBroken = true
    }

    /// The power went: what was not synced is anything now.
    mutating func loseUnsynced() {
        let lost = everything.subtracting(persisted.synced)
        for version in origins.keys { origins[version]?.subtract(lost) }
        origins[Self.garbage, default: ByteSet()].formUnion(lost)
        persisted.written = persisted.synced
    }

    /// Opened anew with what the store claims.
    mutating func reopen(_ claim: PersistedRanges) {
        persisted = claim
        isBroken = false
    }

    /// All bytes that the file has, claimed or not.
    private var everything: ByteSet { origins.values.reduce(into: ByteSet()) { $0.formUnion($1) } }

    /// What of these bytes came from which version.
    func origins(in bytes: ByteSet) -> [Int: ByteSet] {
        origins.mapValues { $0.intersection(bytes) }.filter { !$0.value.isEmpty }
    }

    func versions(in bytes: ByteSet) -> Set<Int> {
        Set(origins.filter { !$0.value.intersection(bytes).isEmpty }.map(\.key))
    }

    func versions(in range: Range<Int64>) -> Set<Int> { versions(in: ByteSet(range)) }

    /// Whether all of this was ever written, whatever has become of it.
    func has(_ bytes: ByteSet) -> Bool { bytes.subtracting(everything).isEmpty }
}
