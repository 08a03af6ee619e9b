internal import Foundation

/// Keys to a store. Nothing of them but the access key's beginning is ever printed.
struct S3Credentials: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var accessKey: String
    var secretKey: String
    /// Of temporary keys.
    var sessionToken: String?
    /// When temporary keys end; nil where that is not known.
    var expires: Date?

    /// Whether a key or a token can be so: they go into header fields.
    static func isPossible(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }

    var description: String { "S3Credentials(\(accessKey.prefix(4))…)" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: ["accessKey": "\(accessKey.prefix(4))…"]) }
}

/// Where keys come from.
protocol S3CredentialSource: Sendable {
    /// - Returns: nil where this source has none: another is asked.
    func load() async throws(FleetError) -> S3Credentials?
}

/// The keys for the requests of a worker: the first source that has some, asked again before they end.
actor S3CredentialCache {
    /// Keys are replaced this long before their end, so that no long request outlives them.
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
            // The service that gives out keys may fail for minutes while the old ones still hold.
            if let current, let end = current.expires, end > now() { return current }
            throw error
        }
    }

    /// Keys in place of some that the store has refused as expired.
    ///
    /// - Returns: nil where there are no others.
    func replacement(for refused: S3Credentials) async throws(FleetError) -> S3Credentials? {
        if let current, current != refused { return current }
        let fresh = try await reload()
        return fresh == refused ? nil : fresh
    }

    private func isEnding(_ credentials: S3Credentials) -> Bool {
        credentials.expires.map { $0.timeIntervalSince(now()) < Self.margin } ?? false
    }

    /// One load at a time, however many requests wait for it.
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
