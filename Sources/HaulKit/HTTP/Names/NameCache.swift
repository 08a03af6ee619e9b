/// The addresses of names that were looked up a short while ago. A value.
///
/// A request that goes over a kept connection must not wait for its name to be looked up again, and has to choose the same address
/// to find that connection. The system's call does not say how long an answer holds; a minute is what curl and browsers take.
struct NameCache: Sendable {
    struct Entry: Sendable, Equatable {
        /// The one to try first stands first.
        var addresses: [ResolvedAddress]
        /// The first address has served a connection.
        var isProven = false
        fileprivate(set) var resolved: Instant
        fileprivate var used: Instant
    }

    /// Older entries are looked up again, while they are still used.
    static let freshness: Duration = .seconds(60)
    /// Older ones are of no use.
    static let lifetime: Duration = .seconds(300)
    static let mostEntries = 1024

    private var entries: [String: Entry] = [:]

    /// - Returns: nil where the name is not known; `isStale` when it is to be looked up again meanwhile.
    mutating func entry(_ name: String, at now: Instant) -> (entry: Entry, isStale: Bool)? {
        guard let entry = entries[name], now - entry.resolved < Self.lifetime else { return nil }
        entries[name]?.used = now
        return (entry, now - entry.resolved >= Self.freshness)
    }

    /// Takes in what a lookup has found. An address that is in use stays the first, where the name still stands for it.
    mutating func store(_ addresses: [ResolvedAddress], of name: String, at now: Instant) {
        var new = Entry(addresses: addresses, resolved: now, used: now)
        if let old = entries[name], old.isProven, let first = old.addresses.first, addresses.contains(first) {
            new.addresses = [first] + addresses.filter { $0 != first }
            new.isProven = true
        }
        entries[name] = new
        guard entries.count > Self.mostEntries else { return }
        if let oldest = entries.min(by: { $0.value.used < $1.value.used })?.key { entries[oldest] = nil }
    }

    /// A connection to this address has been made.
    mutating func prove(_ address: ResolvedAddress, of name: String) {
        guard var entry = entries[name], entry.addresses.contains(address) else { return }
        entry.addresses = [address] + entry.addresses.filter { $0 != address }
        entry.isProven = true
        entries[name] = entry
    }

    /// No connection could be made: the next request looks the name up.
    mutating func forget(_ name: String) { entries[name] = nil }
}
