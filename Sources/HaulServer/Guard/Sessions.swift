internal import Crypto
internal import Foundation
package import Logging

/// Who is signed in. Sessions survive the process: their digests, with the end of each, are kept in a file of mode 0600, so that
/// a page need not sign in again after the daemon was started again.
package actor Sessions {
    private struct Saved: Codable {
        var sessions: [String: Date]
    }

    private static let lifetime: TimeInterval = 90 * 86_400
    private static let limit = 1000

    private let path: String
    private let logger: Logger
    /// By digest.
    private var ends: [String: Date] = [:]
    private var streams: [String: [Int: @Sendable () -> Void]] = [:]
    private var lastStream = 0

    package init(stateFolder: String, logger: Logger) {
        path = stateFolder + "/sessions.json"
        self.logger = logger
        // Without the file, or with one that cannot be read, everybody signs in again.
        if let (bytes, _) = try? SecretFile.read(path),
            let saved = try? JSONDecoder().decode(Saved.self, from: Data(bytes))
        {
            ends = saved.sessions.filter { $0.value > Date() }
        }
    }

    /// A new session's secret, for the cookie.
    func make() -> String {
        let secret = AccessToken.random()
        if ends.count >= Self.limit, let oldest = ends.min(by: { $0.value < $1.value })?.key { ends[oldest] = nil }
        ends[Self.digest(secret)] = Date() + Self.lifetime
        save()
        return secret
    }

    /// The session that a cookie names; nil for none that is valid.
    func session(_ secret: String) -> String? {
        let digest = Self.digest(secret)
        guard let end = ends[digest], end > Date() else { return nil }
        return digest
    }

    /// Signs out, and ends the event streams of the session.
    func end(_ session: String) {
        ends[session] = nil
        streams.removeValue(forKey: session)?.values.forEach { $0() }
        save()
    }

    /// Calls `onEnd` when the session is signed out.
    func attach(_ session: String, _ onEnd: @escaping @Sendable () -> Void) -> Int {
        lastStream += 1
        streams[session, default: [:]][lastStream] = onEnd
        return lastStream
    }

    func detach(_ session: String, _ stream: Int) {
        streams[session]?[stream] = nil
        if streams[session]?.isEmpty == true { streams[session] = nil }
    }

    private static func digest(_ secret: String) -> String {
        AccessToken.base64url(Data(SHA256.hash(data: Data(secret.utf8))))
    }

    private func save() {
        do { try SecretFile.replace(path, Array(JSONEncoder().encode(Saved(sessions: ends)))) } catch {
            logger.warning("Sessions cannot be kept over a restart: \(path): \(error)")
        }
    }
}
