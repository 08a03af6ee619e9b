import Foundation
import HaulTesting
import Synchronization

@testable import HaulCore
@testable import HaulKit

/// A server whose links live for a while only, and an application that knows how to make them.
final class SignedLinks: Sendable {
    private struct State {
        var made: [Int: ContinuousClock.Instant] = [:]
        var queries: [SourceQuery] = []
    }
    private let state = Mutex(State())
    let life: Duration
    /// Whether a body that is under way is cut when its link expires.
    let cutsBodies: Bool
    let resource: FileResource

    init(_ resource: FileResource, life: Duration, cutsBodies: Bool = false) {
        self.resource = resource
        self.life = life
        self.cutsBodies = cutsBodies
    }

    /// What the application was asked.
    var queries: [SourceQuery] { state.withLock { $0.queries } }

    /// The query of a new link.
    func sign() -> String {
        state.withLock { state in
            let number = state.made.count + 1
            state.made[number] = .now + life
            return "?token=\(number)"
        }
    }

    /// Names a link to `path` at the server; the answer says when it expires, or leaves that to be found out.
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
            // Evenly paced, a body has come so far when its link expires.
            resource.bodyLimit = Int64(Double(pace) * left.seconds)
            resource.ending = .close
        }
        return resource.reply(to: request)
    }
}

/// Where a server can be reached, once it is up: its handler and the configuration are made before.
final class Place: Sendable {
    private let url = Mutex("")
    func callAsFunction() -> String { url.withLock { $0 } }
    func set(_ text: String) { url.withLock { $0 = text } }
}
