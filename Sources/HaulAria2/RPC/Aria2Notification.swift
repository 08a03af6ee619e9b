internal import NIOCore
internal import Synchronization

/// A message that the server sends to clients without a call.
package struct Aria2Notification: Sendable, Equatable {
    package enum Name: String, Sendable, CaseIterable {
        case start = "aria2.onDownloadStart"
        case pause = "aria2.onDownloadPause"
        case stop = "aria2.onDownloadStop"
        case complete = "aria2.onDownloadComplete"
        case error = "aria2.onDownloadError"
        /// Never sent, because Haul has no BitTorrent.
        case torrentComplete = "aria2.onBtDownloadComplete"
    }

    package let name: Name
    package let gid: GID
    /// A JSON-RPC request without an id.
    let text: ByteBuffer

    package init(_ name: Name, _ gid: GID) {
        (self.name, self.gid) = (name, gid)
        text = ByteBuffer(
            string: #"{"jsonrpc":"2.0","method":"\#(name.rawValue)","params":[{"gid":"\#(gid)"}]}"#
        )
    }
}

/// Distributes notifications without waiting for listeners.
package final class Aria2Notifications: Sendable {
    private struct State {
        var listeners: [Int: @Sendable (Aria2Notification) -> Void] = [:]
        var last = 0
    }
    private let state = Mutex(State())

    /// Adds a listener.
    ///
    /// - Parameter listener: must return at once.
    /// - Returns: a number for ``stopListening(_:)``.
    package func listen(_ listener: @escaping @Sendable (Aria2Notification) -> Void) -> Int {
        state.withLock { state in
            state.last += 1
            state.listeners[state.last] = listener
            return state.last
        }
    }

    package func stopListening(_ number: Int) { state.withLock { _ = $0.listeners.removeValue(forKey: number) } }

    func tell(_ name: Aria2Notification.Name, _ gid: GID) {
        let notification = Aria2Notification(name, gid)
        for listener in state.withLock({ Array($0.listeners.values) }) { listener(notification) }
    }
}
