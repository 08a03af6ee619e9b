internal import NIOCore
internal import Synchronization

/// The connections that are open. Their number is limited; all of them are closed when the server ends.
final class Aria2Connections: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isClosed = false
    }
    private let state = Mutex(State())
    private let most: Int

    init(most: Int) { self.most = most }

    /// - Returns: false when there are as many as may be.
    func open(_ channel: any Channel) -> Bool {
        let isTaken = state.withLock { state in
            guard !state.isClosed, state.channels.count < most else { return false }
            state.channels[ObjectIdentifier(channel)] = channel
            return true
        }
        guard isTaken else { return false }
        let key = ObjectIdentifier(channel)
        channel.closeFuture.whenComplete { _ in self.state.withLock { _ = $0.channels.removeValue(forKey: key) } }
        return true
    }

    func closeAll() {
        let channels = state.withLock { state in
            state.isClosed = true
            return Array(state.channels.values)
        }
        for channel in channels { channel.close(promise: nil) }
    }

    var count: Int { state.withLock { $0.channels.count } }
}

/// The bytes of requests that are being received. What all of them may take together is limited.
final class Aria2Bodies: Sendable {
    private let taken = Mutex(0)
    private let most: Int

    init(most: Int) { self.most = most }

    /// - Returns: false where there is no room.
    func take(_ count: Int) -> Bool {
        taken.withLock { taken in
            guard taken + count <= most else { return false }
            taken += count
            return true
        }
    }

    func give(_ count: Int) { taken.withLock { $0 -= count } }
}

/// Answers to wrong tokens wait, so that a secret cannot be guessed fast. Only so many wait at once: what is beyond them gets no
/// answer, which says nothing of the token.
final class Aria2Delays: Sendable {
    private let waiting = Mutex(0)
    private let most = 64
    private let time: Duration

    init(time: Duration = .seconds(1)) { self.time = time }

    /// - Returns: false where too many wait already.
    func wait() async -> Bool {
        let isTaken = waiting.withLock { waiting in
            guard waiting < most else { return false }
            waiting += 1
            return true
        }
        guard isTaken else { return false }
        defer { waiting.withLock { $0 -= 1 } }
        // The wait ends early only where the server does.
        do { try await Task.sleep(for: time) } catch { return false }
        return true
    }
}
