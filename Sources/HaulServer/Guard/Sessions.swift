internal import Foundation
package import Logging

/// The sessions of signed-in browsers. A file of mode 0600 keeps the digest and the end of each session, so that a page
/// need not sign in again after a restart of the daemon.
package actor Sessions {
    private struct Saved: Codable {
        var sessions: [String: Date]
    }

    /// In seconds; the cookie in the browser lasts as long.
    static let lifetime: TimeInterval = 90 * 86_400
    private static let limit = 1000

    private let path: String
    private let logger: Logger
    /// End of each session, by digest.
    private var ends: [String: Date] = [:]
    private var streams: [String: [Int: @Sendable () -> Void]] = [:]
    private var lastStream = 0

    package init(stateFolder: String, logger: Logger) {
        path = stateFolder + "/sessions.json"
        self.logger = logger
        let consequence = "Every browser must sign in again."
        if let saved = SecretFile.decode(Saved.self, from: path, logger, consequence: consequence) {
            ends = saved.sessions.filter { $0.value > Date() }
        }
    }

    /// Creates a session. Returns its secret for the cookie.
    func make() -> String {
        let secret = AccessToken.random()
        if ends.count >= Self.limit, let oldest = ends.min(by: { $0.value < $1.value })?.key { ends[oldest] = nil }
        ends[AccessToken.digest(of: secret)] = Date() + Self.lifetime
        save()
        return secret
    }

    /// Returns the session of a cookie; `nil` if the cookie is invalid or expired.
    package func session(_ secret: String) -> String? {
        let digest = AccessToken.digest(of: secret)
        guard let end = ends[digest], end > Date() else { return nil }
        return digest
    }

    /// Signs out, and ends the event streams of the session.
    package func end(_ session: String) {
        ends[session] = nil
        streams.removeValue(forKey: session)?.values.forEach { $0() }
        save()
    }

    /// Registers a closure that is called when the session is signed out. Returns the number for ``detach(_:_:)``.
    func attach(_ session: String, _ onEnd: @escaping @Sendable () -> Void) -> Int {
        lastStream += 1
        streams[session, default: [:]][lastStream] = onEnd
        return lastStream
    }

    package func detach(_ session: String, _ stream: Int) {
        streams[session]?[stream] = nil
        if streams[session]?.isEmpty == true { streams[session] = nil }
    }

    private func save() {
        do { try SecretFile.replace(path, Array(JSONEncoder().encode(Saved(sessions: ends)))) } catch {
            logger.warning("Sessions cannot be kept over a restart: \(path): \(error)")
        }
    }
}
