public import HaulKit
internal import Synchronization

/// A monitor of a network whose status a test or a preview sets, for
/// ``HaulKit/Downloader/Configuration/Network/monitor``.
public final class ScriptedNetworkMonitor: NetworkMonitor {
    private struct State {
        var status: NetworkStatus
        var listeners: [AsyncStream<NetworkStatus>.Continuation] = []
        var hasEnded = false
    }
    private let state: Mutex<State>

    /// Makes the monitor of a network in this state.
    public init(_ status: NetworkStatus = .online) { state = Mutex(State(status: status)) }

    /// The state of the network. Every listener gets a new value. Setting an equal value does nothing. Setting a value
    /// after ``stop()`` does nothing either.
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

    /// Number of calls of ``statuses()`` so far.
    package var listenerCount: Int { state.withLock { $0.listeners.count } }

    /// Returns the present status, then one after each change; see ``HaulKit/NetworkMonitor/statuses()``.
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

    /// Ends every sequence. A downloader calls this method when it shuts down, so each downloader needs a monitor of
    /// its own.
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

    /// The interface of ``online`` without a carrier: no other machine can be reached.
    public static let offline = NetworkStatus(
        interfaces: [Interface(name: "eth0", index: 2, hasCarrier: false, addresses: ["192.0.2.2"])],
        isMetered: false,
        hasDefaultRoute: false
    )
}
