internal import Foundation
internal import HaulKit
internal import Synchronization

/// Makes links for the objects that a list names as `s3://BUCKET/KEY`. The store and the credentials are those of the
/// worker's environment; the queue has neither.
package final class S3Sources: Sendable {
    /// Longest time in seconds for which a link is valid. A download asks for the next link before the end.
    private static let lifetime = 6 * 3600

    private let settings: S3Settings
    private let credentials: S3CredentialCache
    private let now: @Sendable () -> Date
    /// Targets of the empty keys of the buckets that links were made for.
    private let buckets = Mutex<[String: S3Endpoint.Target]>([:])

    /// Takes the store of the environment. A malformed endpoint or region is no error before the first item of the form
    /// `s3://BUCKET/KEY`; see ``check()``.
    ///
    /// - Parameter endpoint: URL of the store in place of that of the environment; `nil` for that of the environment.
    package convenience init(_ environment: [String: String], endpoint: String? = nil) {
        var settings = S3Settings(bucket: "any")
        settings.take(environment)
        if let endpoint { settings.endpoint = endpoint }
        self.init(settings, S3CredentialCache(environment: environment))
    }

    init(
        _ settings: S3Settings,
        _ credentials: S3CredentialCache,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        (self.settings, self.credentials, self.now) = (settings, credentials, now)
    }

    private func endpoint(_ bucket: String) throws(FleetError) -> S3Endpoint {
        var settings = settings
        settings.bucket = bucket
        return try S3Endpoint(settings)
    }

    /// - Throws: ``FleetError/Code/invalidInput`` for a malformed endpoint or region.
    package func check() throws(FleetError) { _ = try S3Endpoint(settings) }

    /// Returns the credentials of the worker.
    ///
    /// - Throws: ``FleetError`` if the worker has none now, or if its endpoint or region is malformed; it blames no
    ///   file.
    @discardableResult
    func keys() async throws(FleetError) -> S3Credentials {
        do throws(FleetError) {
            try check()
            return try await credentials.credentials()
        } catch { throw error.blamingNoFile() }
    }

    /// Returns a link to an object, valid for six hours or as long as the credentials.
    ///
    /// - Throws: ``FleetError`` if the worker has no credentials now; it blames no file.
    func link(to object: S3Object) async throws(FleetError) -> URL {
        let endpoint = try endpoint(object.bucket)
        let target = endpoint.target(region: settings.region, key: object.key)
        let keys = try await keys()
        let date = now()
        let rest = keys.expires.map { Int($0.timeIntervalSince(date)) } ?? Self.lifetime
        let query = RequestSigner(credentials: keys, region: settings.region).linkQuery(
            path: target.path,
            authority: target.authority,
            lifetime: min(Self.lifetime, max(60, rest)),
            at: date
        )
        guard let url = URL(string: "\(target.scheme)://\(target.authority)\(target.path)?\(query)") else {
            throw FleetError(.invalidInput, "s3://\(object.bucket)/\(object.key) gives no URL.")
        }
        buckets.withLock { $0[object.bucket] = endpoint.target(region: settings.region, key: "") }
        return url
    }

    /// Returns the name under which the queue counts requests to `url`: that of the bucket for a link, otherwise `nil`.
    func hostName(of url: URL) -> String? {
        let buckets = buckets.withLock(\.self)
        guard !buckets.isEmpty, let host = url.host?.lowercased() else { return nil }
        let (port, path) = (url.port ?? (url.scheme == "https" ? 443 : 80), url.path(percentEncoded: true))
        let found = buckets.first { _, target in
            target.host == host && target.port == port && path.hasPrefix(target.path)
        }
        return found.map { S3Object.hostName(ofBucket: $0.key) }
    }
}
