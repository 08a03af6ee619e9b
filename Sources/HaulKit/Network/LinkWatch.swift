internal import Dispatch
internal import Synchronization

/// Follows the kernel's notifications of links, addresses and routes until it is stopped or released.
final class LinkWatch: Sendable {
    /// Never assigned after `init`, and safe to use from any thread, as all sources of Dispatch are. The protocol does
    /// not declare this.
    nonisolated(unsafe) private let source: any DispatchSourceRead

    /// - Parameters:
    ///   - descriptor: descriptor of a netlink socket, which the watch closes.
    ///   - report: called with the status whenever it has settled, and finally with `nil` if the kernel refuses a
    ///     request, messages cannot be read, or ``LinkTable`` has failed.
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

    /// Closes the socket soon after the call. A report that is under way may still be made.
    func stop() { source.cancel() }
}

/// Reads the messages of one netlink socket into a ``LinkTable``, and sends the requests that the table returns.
private final class LinkReader: Sendable {
    enum Outcome {
        case settled(NetworkStatus)
        case unsettled, failed
    }

    private let descriptor: Int32
    private let table = Mutex(LinkTable())
    /// Size of the buffer for a datagram. The kernel sends at most 32 KiB at once.
    private static let mostBytes = 64 << 10

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// - Returns: `false` if the kernel refuses the request.
    func begin() -> Bool { table.withLock { ask($0.begin()) } }

    /// Reads all waiting messages.
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
