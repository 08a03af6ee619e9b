import Foundation
import HaulTesting
import Synchronization

@testable import HaulCore
@testable import HaulKit

/// A server whose links expire, and the source provider that makes new ones.
///
/// To the server, the life of a link begins with the first request for it. A busy machine may take longer than that
/// life to send the first request.
final class SignedLinks: Sendable {
    private struct State {
        var made = 0
        var firstUses: [Int: ContinuousClock.Instant] = [:]
        var queries: [SourceQuery] = []
    }
    private let state = Mutex(State())
    let life: Duration
    /// Whether a body in progress is cut off when its link expires.
    let cutsBodies: Bool
    let resource: FileResource

    init(_ resource: FileResource, life: Duration, cutsBodies: Bool = false) {
        self.resource = resource
        self.life = life
        self.cutsBodies = cutsBodies
    }

    /// The queries that the source provider got.
    var queries: [SourceQuery] { state.withLock { $0.queries } }

    /// Makes a new link and returns its query.
    func sign() -> String {
        state.withLock { state in
            state.made += 1
            return "?token=\(state.made)"
        }
    }

    /// Returns a link to `server`, with its expiry if `saysExpiry`.
    func source(at server: String, _ query: SourceQuery, saysExpiry: Bool = true) throws -> DownloadSource {
        state.withLock { $0.queries.append(query) }
        guard let url = URL(string: server + sign()) else { throw CancellationError() }
        return DownloadSource(url, expiresAt: saysExpiry ? Date() + life.seconds : nil)
    }

    func reply(to request: TestRequest) -> TestReply {
        let number = request.target.split(separator: "=").last.flatMap { Int($0) }
        guard let number, let left = timeLeft(of: number) else { return .empty(404, "Not Found") }
        guard left > .zero else { return .empty(403, "Forbidden") }
        var resource = resource
        if cutsBodies, let pace = resource.bytesPerSecond {
            // The number of bytes that a paced body has sent when its link expires.
            resource.bodyLimit = Int64(Double(pace) * left.seconds)
            resource.ending = .close
        }
        return resource.reply(to: request)
    }

    /// Returns the rest of the life of a link that is being used; `nil` if it was never made.
    private func timeLeft(of number: Int) -> Duration? {
        state.withLock { state in
            guard number >= 1, number <= state.made else { return nil }
            let now = ContinuousClock.now
            let begin = state.firstUses[number] ?? now
            state.firstUses[number] = begin
            return begin + life - now
        }
    }
}

/// Holds the URL of a server, which is known only after the handler and the configuration were made.
final class Place: Sendable {
    private let url = Mutex("")
    func callAsFunction() -> String { url.withLock { $0 } }
    func set(_ text: String) { url.withLock { $0 = text } }
}
