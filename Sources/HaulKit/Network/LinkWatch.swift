internal import Dispatch
internal import Synchronization

/// Follows the kernel's news of links, addresses and routes until it is stopped or goes away.
final class LinkWatch: Sendable {
    /// Safe to use from everywhere, as all of Dispatch's sources are; the protocol does not say so.
    nonisolated(unsafe) private let source: any DispatchSourceRead

    /// - Parameters:
    ///   - descriptor: of a netlink socket; closed in the end.
    ///   - report: told how things are whenever they have settled; nil, at last, when the kernel does not let us look.
    init(_ descriptor: Int32, report: @escaping @Sendable (NetworkStatus?) -> Void) {
        let reader = LinkReader(descriptor)
        let queue = DispatchQueue(label: "haul.links", qos: .utility)
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler { [source] in
            switch reader.read() {
            case .settled(let status): report(status)
            case .unsettled: break
            case .failed:
                source.cancel()
                report(nil)
            }
        }
        source.setCancelHandler { SystemCalls.close(descriptor) }
        let hasBegun = reader.begin()
        source.activate()
        if !hasBegun {
            stop()
            report(nil)
        }
    }

    deinit { stop() }

    /// Closes the socket soon after. What is being reported at this moment may still be.
    func stop() { source.cancel() }
}

/// Reads one netlink socket into a table, and asks what the table wants to know.
private final class LinkReader: Sendable {
    enum Outcome {
        case settled(NetworkStatus)
        case unsettled, failed
    }

    private let descriptor: Int32
    private let table = Mutex(LinkTable())
    /// The kernel sends no more than 32 KiB at once.
    private static let mostBytes = 64 << 10

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// - Returns: false if the kernel refuses.
    func begin() -> Bool { table.withLock { ask($0.begin()) } }

    /// Reads all that is there.
    func read() -> Outcome {
        table.withLock { table in
            var buffer = [UInt8](repeating: 0, count: Self.mostBytes)
            while true {
                var next: LinkTable.Request?
                do throws(SystemCalls.Errno) {
                    guard let count = try SystemCalls.receive(descriptor, into: &buffer) else { break }
                    next = table.take(NetlinkMessage.parse(buffer[..<count]))
                } catch {
                    guard SystemCalls.isOverrun(error) else { return .failed }
                    next = table.lost()
                }
                if table.hasFailed { return .failed }
                if let next, !ask(next) { return .failed }
            }
            return table.isSettled ? .settled(table.status) : .unsettled
        }
    }

    private func ask(_ request: LinkTable.Request) -> Bool {
        do throws(SystemCalls.Errno) {
            try SystemCalls.requestDump(descriptor, request.dump, sequence: request.sequence)
            return true
        } catch { return false }
    }
}
