internal import NIOCore
internal import Synchronization

/// Ends a request whose body the peer has stopped reading.
///
/// AsyncHTTPClient watches the silence before and within an answer, but has no timer while a body that is streamed waits for room in a
/// connection: the deadline of the whole request, which is long for a long body, would be the only end.
final class BodyWatch: Sendable {
    struct Silence: Error {}

    private enum State {
        /// The body was asked for more at this time last.
        case sending(ContinuousClock.Instant)
        case sent
    }
    private let state = Mutex(State.sending(.now))

    fileprivate func moved() { state.withLock { $0 = .sending(.now) } }
    fileprivate func ended() { state.withLock { $0 = .sent } }

    /// - Throws: ``Silence`` where the body was asked for nothing for so long.
    func ending<Answer: Sendable>(
        afterSilenceOf limit: Duration,
        _ request: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        try await withThrowingTaskGroup(of: Answer?.self) { group in
            group.addTask { try await request() }
            group.addTask {
                try await self.silence(of: limit)
                return nil
            }
            defer { group.cancelAll() }
            while let result = try await group.next() {
                if let result { return result }
            }
            throw CancellationError()
        }
    }

    /// Returns when all has been sent.
    private func silence(of limit: Duration) async throws {
        while case .sending(let last) = state.withLock(\.self) {
            guard last.duration(to: .now) < limit else { throw Silence() }
            try await Task.sleep(until: last + limit)
        }
    }
}

/// A region of a file as a body that is watched.
struct WatchedBody: AsyncSequence, Sendable {
    private let region: FileRegion
    private let watch: BodyWatch

    init(_ region: FileRegion, _ watch: BodyWatch) { (self.region, self.watch) = (region, watch) }

    func makeAsyncIterator() -> Iterator { Iterator(region: region.makeAsyncIterator(), watch: watch) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var region: FileRegion.Iterator
        fileprivate let watch: BodyWatch

        mutating func next() async throws -> ByteBuffer? {
            watch.moved()
            let buffer = try await region.next()
            if buffer == nil { watch.ended() }
            return buffer
        }
    }
}
