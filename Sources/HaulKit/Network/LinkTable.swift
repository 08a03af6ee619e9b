/// The machine's links, addresses and default route, kept from the kernel's messages.
///
/// It begins with a dump of each and follows the news from then on. Routes alone are always dumped again when something
/// changed: the kernel drops those of a link that goes down without a word.
struct LinkTable: Sendable {
    /// Everything there is of a kind; the numbers are rtnetlink's.
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
    /// What a dump of routes has found so far.
    private var foundRoute = false
    /// Everything is to be asked again when the present dump has ended: the kernel does one at a time.
    private var mustBeginAgain = false
    /// Something changed since they were asked.
    private var areRoutesStale = false
    private var lastSequence: UInt32 = 0
    /// Restarts in a row.
    private var failures = 0

    /// The kernel does not let us look, or never lets a dump come to its end.
    private(set) var hasFailed = false
    /// Nothing is outstanding: ``interfaces`` is how things are.
    var isSettled: Bool { current == nil && lastSequence > 0 && !hasFailed }
    private static let mostFailures = 20

    /// What to ask first.
    mutating func begin() -> Request { ask(.links) }

    /// Takes in what came.
    ///
    /// - Returns: what to ask next, if anything.
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

    /// Messages were lost: everything is asked again, once the present dump has ended.
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
        // 0 stands for news.
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
            // The kernel repeats itself: Wi-Fi tells of every scan.
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

    /// What is known now, without whether it is metered.
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
