internal import Foundation

/// Keys for a store. Descriptions contain only the beginning of the access key.
struct S3Credentials: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var accessKey: String
    var secretKey: String
    /// Session token of temporary keys; `nil` for permanent keys.
    var sessionToken: String?
    /// Time when temporary keys expire; `nil` if unknown.
    var expires: Date?

    /// Whether `text` can be a key or a token, which must be valid in a header field.
    static func isPossible(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }

    var description: String { "S3Credentials(\(accessKey.prefix(4))…)" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: ["accessKey": "\(accessKey.prefix(4))…"]) }
}

/// A source of S3 credentials: the environment, a file, or a service of the machine.
protocol S3CredentialSource: Sendable {
    /// Loads the keys; returns `nil` if this source has none, so that the caller asks the next source.
    func load() async throws(FleetError) -> S3Credentials?
}

/// Caches the keys for a worker's requests. Asks the sources in order until one has keys, and asks again before the
/// keys expire.
actor S3CredentialCache {
    /// Keys are replaced this many seconds before they expire, so that no long request outlives them.
    static let margin: TimeInterval = 300

    private let sources: [any S3CredentialSource]
    private let now: @Sendable () -> Date
    private var current: S3Credentials?
    private var load: Task<Result<S3Credentials, FleetError>, Never>?

    init(_ sources: [any S3CredentialSource], now: @escaping @Sendable () -> Date = { Date() }) {
        (self.sources, self.now) = (sources, now)
    }

    func credentials() async throws(FleetError) -> S3Credentials {
        if let current, !isEnding(current) { return current }
        do throws(FleetError) { return try await reload() } catch {
            // Uses the old keys while they are valid, because the credentials service may fail for minutes.
            if let current, let end = current.expires, end > now() { return current }
            throw error
        }
    }

    /// Returns keys to replace `refused`, which the store refused as expired.
    ///
    /// - Returns: `nil` if there are no other keys.
    func replacement(for refused: S3Credentials) async throws(FleetError) -> S3Credentials? {
        if let current, current != refused { return current }
        let fresh = try await reload()
        return fresh == refused ? nil : fresh
    }

    private func isEnding(_ credentials: S3Credentials) -> Bool {
        credentials.expires.map { $0.timeIntervalSince(now()) < Self.margin } ?? false
    }

    /// Loads keys once, however many requests wait for them.
    private func reload() async throws(FleetError) -> S3Credentials {
        let task =
            load
            ?? Task { [sources] in
                do throws(FleetError) { return .success(try await Self.first(of: sources)) } catch {
                    return .failure(error)
                }
            }
        load = task
        let result = await task.value
        if load == task { load = nil }
        current = try result.get()
        return try result.get()
    }

    private static func first(of sources: [any S3CredentialSource]) async throws(FleetError) -> S3Credentials {
        for source in sources {
            if let credentials = try await source.load() { return credentials }
        }
        throw FleetError(
            .destinationRefused,
            "No credentials for the store were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write them into "
                + "~/.aws/credentials."
        )
    }
}
