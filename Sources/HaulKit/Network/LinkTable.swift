/// The machine's links, addresses and default route, updated from the kernel's messages.
///
/// The table begins with a dump of each kind and applies the kernel's notifications from then on. Routes are dumped
/// again after every change, because the kernel does not report the routes that it drops when a link goes down.
struct LinkTable: Sendable {
    /// A request for all entries of one kind. The raw values are those of rtnetlink(7).
    enum Dump: UInt16, Sendable, CaseIterable {
        case links = 18
        case addresses = 22
        case routes = 26
    }

    struct Request: Sendable, Equatable {
        var dump: Dump
        var sequence: UInt32
    }

    private struct Link: Equatable {
        var name: String
        var isUp: Bool
        var hasCarrier: Bool
        var isLoopback: Bool
    }

    private var links: [Int32: Link] = [:]
    private var addresses: Set<NetlinkMessage.AddressKey> = []
    private var hasDefaultRoute = false
    private var current: Request?
    /// Whether the present dump of routes has found a usable default route.
    private var foundRoute = false
    /// Whether all dumps have to be repeated when the present one has ended. The kernel does one dump at a time.
    private var mustBeginAgain = false
    /// Whether something has changed since the last dump of routes.
    private var areRoutesStale = false
    private var lastSequence: UInt32 = 0
    /// Number of consecutive times that all dumps were repeated; reset by a complete sequence of dumps.
    private var failures = 0

    /// Whether the kernel has refused a request, or all dumps had to be repeated more than `mostFailures` times in a
    /// row.
    private(set) var hasFailed = false
    /// Whether no dump is outstanding, so that ``status`` is up to date.
    var isSettled: Bool { current == nil && lastSequence > 0 && !hasFailed }
    private static let mostFailures = 20

    /// Begins the first dump. The caller sends the returned request to the kernel.
    mutating func begin() -> Request { ask(.links) }

    /// Applies the received messages.
    ///
    /// - Returns: the next request; `nil` if there is none.
    mutating func take(_ messages: [NetlinkMessage]) -> Request? {
        var next: Request?
        for message in messages where !hasFailed {
            if let current, message.sequence == current.sequence {
                if message.wasInterrupted { mustBeginAgain = true }
                switch message.content {
                case .done: next = ended(current.dump)
                case .refused: hasFailed = true
                case .defaultRoute(let isUsable): foundRoute = foundRoute || isUsable
                default: apply(message.content)
                }
            } else if case .overrun = message.content {
                next = lost() ?? next
            } else {
                apply(message.content)
            }
        }
        if current == nil, areRoutesStale, !hasFailed { next = ask(.routes) }
        return hasFailed ? nil : next
    }

    /// Notes that messages were lost. All dumps are repeated once the present one has ended.
    ///
    /// - Returns: the first request of the repetition if no dump is outstanding; `nil` otherwise, and after too many
    ///   repetitions.
    mutating func lost() -> Request? {
        mustBeginAgain = true
        return current == nil ? beginAgain() : nil
    }

    private mutating func ended(_ dump: Dump) -> Request? {
        current = nil
        if mustBeginAgain { return beginAgain() }
        switch dump {
        case .links: return ask(.addresses)
        case .addresses: return ask(.routes)
        case .routes:
            hasDefaultRoute = foundRoute
            failures = 0
            return nil
        }
    }

    private mutating func beginAgain() -> Request? {
        mustBeginAgain = false
        failures += 1
        hasFailed = failures > Self.mostFailures
        guard !hasFailed else { return nil }
        links = [:]
        addresses = []
        return ask(.links)
    }

    private mutating func ask(_ dump: Dump) -> Request {
        // Leaves out 0, which is the sequence number of notifications.
        lastSequence = lastSequence == .max ? 1 : lastSequence + 1
        if dump == .routes { (foundRoute, areRoutesStale) = (false, false) }
        let request = Request(dump: dump, sequence: lastSequence)
        current = request
        return request
    }

    private mutating func apply(_ content: NetlinkMessage.Content) {
        switch content {
        case .link(let index, let name, let isUp, let hasCarrier, let isLoopback):
            guard let name = name ?? links[index]?.name else { return }
            let link = Link(name: name, isUp: isUp, hasCarrier: hasCarrier, isLoopback: isLoopback)
            // Ignores a message without a change, so that the routes are not dumped again: Wi-Fi reports every scan.
            guard links.updateValue(link, forKey: index) != link else { return }
        case .linkGone(let index):
            guard links.removeValue(forKey: index) != nil else { return }
            addresses = addresses.filter { $0.index != index }
        case .address(let key, true): guard addresses.insert(key).inserted else { return }
        case .address(let key, false), .addressGone(let key): guard addresses.remove(key) != nil else { return }
        case .defaultRoute: break
        case .done, .refused, .overrun, .other: return
        }
        areRoutesStale = true
    }

    /// The present status, without `isMetered`.
    var status: NetworkStatus {
        let byLink = Dictionary(grouping: addresses) { $0.index }
        let interfaces = links.sorted { $0.key < $1.key }.map { index, link in
            NetworkStatus.Interface(
                name: link.name,
                index: Int(index),
                isUp: link.isUp,
                hasCarrier: link.hasCarrier,
                isLoopback: link.isLoopback,
                addresses: Set((byLink[index] ?? []).map(\.address.description)).sorted()
            )
        }
        return NetworkStatus(interfaces: interfaces, hasDefaultRoute: hasDefaultRoute)
    }
}
