internal import NIOCore
internal import Synchronization

/// The entries and the open connections of a server or proxy, shared by its event loops and the test.
final class ServerLog<Entry: Sendable>: Sendable {
    private struct State {
        var entries: [Entry] = []
        var bodyBytesSent: Int64 = 0
        var connectionCount = 0
        var open: [ObjectIdentifier: any Channel] = [:]
        var isStopped = false
    }

    private let state = Mutex(State())

    var entries: [Entry] { state.withLock { $0.entries } }

    /// Number of body bytes that the sockets took so far.
    var bodyBytesSent: Int64 { state.withLock { $0.bodyBytesSent } }

    /// Records the entry that `make` returns for its number, counted from 1.
    func record(_ make: (Int) -> Entry) -> Entry {
        state.withLock { state in
            let entry = make(state.entries.count + 1)
            state.entries.append(entry)
            return entry
        }
    }

    /// Counts body bytes that a socket took.
    func sent(_ count: Int64) {
        state.withLock { $0.bodyBytesSent += count }
    }

    /// Registers an accepted connection. Returns its number, counted from 1, or `nil` if the server has been stopped.
    func opened(_ channel: any Channel) -> Int? {
        let identifier = ObjectIdentifier(channel)
        let number: Int? = state.withLock { state in
            guard !state.isStopped else { return nil }
            state.connectionCount += 1
            state.open[identifier] = channel
            return state.connectionCount
        }
        channel.closeFuture.whenComplete { _ in
            self.state.withLock { $0.open[identifier] = nil }
        }
        return number
    }

    /// Closes every connection and accepts no others.
    func stop() async {
        let channels = state.withLock { state in
            state.isStopped = true
            return Array(state.open.values)
        }
        for channel in channels {
            channel.eventLoop.execute { channel.closeTransport() }
        }
        for channel in channels {
            // The future of a closed channel never fails.
            try? await channel.closeFuture.get()
        }
    }
}
