public import HaulKit
internal import Synchronization

/// A network whose state a test decides.
public final class ScriptedNetworkMonitor: NetworkMonitor {
    private struct State {
        var status: NetworkStatus
        var listeners: [AsyncStream<NetworkStatus>.Continuation] = []
        var hasEnded = false
    }
    private let state: Mutex<State>

    public init(_ status: NetworkStatus = .online) { state = Mutex(State(status: status)) }

    /// What listeners are told from now on; those that are there hear of it if it is a change.
    public var status: NetworkStatus {
        get { state.withLock { $0.status } }
        set {
            state.withLock { state in
                guard state.status != newValue, !state.hasEnded else { return }
                state.status = newValue
                for listener in state.listeners { listener.yield(newValue) }
            }
        }
    }

    /// How many have asked for the statuses so far.
    public var listenerCount: Int { state.withLock { $0.listeners.count } }

    public func statuses() -> AsyncStream<NetworkStatus> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: NetworkStatus.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        state.withLock { state in
            continuation.yield(state.status)
            state.listeners.append(continuation)
            if state.hasEnded { continuation.finish() }
        }
        return stream
    }

    public func stop() {
        state.withLock { state in
            state.hasEnded = true
            for listener in state.listeners { listener.finish() }
        }
    }
}

extension NetworkStatus {
    /// One interface `eth0` with the address 192.0.2.2, through which everything can be reached.
    public static let online = NetworkStatus(
        interfaces: [Interface(name: "eth0", index: 2, addresses: ["192.0.2.2"])],
        isMetered: false,
        hasDefaultRoute: true
    )

    /// The same with its plug pulled.
    public static let offline = NetworkStatus(
        interfaces: [Interface(name: "eth0", index: 2, hasCarrier: false, addresses: ["192.0.2.2"])],
        isMetered: false,
        hasDefaultRoute: false
    )
}
