/// The addresses of recently looked up names. A value without a lock; ``NameResolver`` has one.
///
/// A request over a kept connection must not wait for another lookup, and has to choose the same address to find that
/// connection. The system's call does not return how long an answer is valid. curl and browsers keep answers for a
/// minute.
struct NameCache: Sendable {
    struct Entry: Sendable, Equatable {
        /// In the order in which they are tried.
        var addresses: [ResolvedAddress]
        /// Whether the first address has served a connection.
        var isProven = false
        fileprivate(set) var resolved: Instant
        fileprivate var used: Instant
    }

    /// Age from which an entry is looked up again. The entry is still used meanwhile.
    static let freshness: Duration = .seconds(60)
    /// Age from which an entry is not used any more.
    static let lifetime: Duration = .seconds(300)
    static let mostEntries = 1024

    private var entries: [String: Entry] = [:]

    /// - Returns: `nil` for a name that is unknown or whose entry is too old; `isStale` is `true` if the name has to be
    ///   looked up again meanwhile.
    mutating func entry(_ name: String, at now: Instant) -> (entry: Entry, isStale: Bool)? {
        guard let entry = entries[name], now - entry.resolved < Self.lifetime else { return nil }
        entries[name]?.used = now
        return (entry, now - entry.resolved >= Self.freshness)
    }

    /// Stores the result of a lookup. A proven first address stays first if the name still has it.
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

    /// Moves an address to the front, because a connection to it has been made.
    mutating func prove(_ address: ResolvedAddress, of name: String) {
        guard var entry = entries[name], entry.addresses.contains(address) else { return }
        entry.addresses = [address] + entry.addresses.filter { $0 != address }
        entry.isProven = true
        entries[name] = entry
    }

    /// Removes a name, because no connection could be made. The next request looks the name up again.
    mutating func forget(_ name: String) { entries[name] = nil }
}
