import Foundation
import HaulTesting
import Synchronization

@testable import HaulCore
@testable import HaulKit

/// A server whose links expire, and the source provider that makes new ones.
final class SignedLinks: Sendable {
    private struct State {
        var made: [Int: ContinuousClock.Instant] = [:]
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
            let number = state.made.count + 1
            state.made[number] = .now + life
            return "?token=\(number)"
        }
    }

    /// Returns a link to `server`, with its expiry if `saysExpiry`.
    func source(at server: String, _ query: SourceQuery, saysExpiry: Bool = true) throws -> DownloadSource {
        state.withLock { $0.queries.append(query) }
        guard let url = URL(string: server + sign()) else { throw CancellationError() }
        return DownloadSource(url, expiresAt: saysExpiry ? Date() + life.seconds : nil)
    }

    func reply(to request: TestRequest) -> TestReply {
        guard let number = request.target.split(separator: "=").last.flatMap({ Int($0) }),
            let end = state.withLock({ $0.made[number] })
        else { return .empty(404, "Not Found") }
        let left = end - .now
        guard left > .zero else { return .empty(403, "Forbidden") }
        var resource = resource
        if cutsBodies, let pace = resource.bytesPerSecond {
            // The number of bytes that a paced body has sent when its link expires.
            resource.bodyLimit = Int64(Double(pace) * left.seconds)
            resource.ending = .close
        }
        return resource.reply(to: request)
    }
}

/// Holds the URL of a server, which is known only after the handler and the configuration were made.
final class Place: Sendable {
    private let url = Mutex("")
    func callAsFunction() -> String { url.withLock { $0 } }
    func set(_ text: String) { url.withLock { $0 = text } }
}
