internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOHTTP1

/// Sends short requests to the credential services of a cloud machine.
///
/// These services answer within milliseconds, or not at all where they do not exist. Each request therefore gets one
/// second and one attempt. `AWS_METADATA_SERVICE_TIMEOUT` sets another number of seconds.
final class MetadataService: Sendable {
    struct Answer {
        var status: Int
        var body: [UInt8]
    }

    private static let mostBytes = 64 << 10
    private let client: HTTPClient
    private let timeout: Duration

    init(_ environment: [String: String]) {
        let seconds = environment["AWS_METADATA_SERVICE_TIMEOUT"].flatMap { Double($0) } ?? 1
        // The range also refuses a number that is not finite.
        let timeout: Duration = (0.001...3600).contains(seconds) ? .seconds(seconds) : .seconds(1)
        self.timeout = timeout
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: TimeAmount(timeout), read: TimeAmount(timeout)),
            decompression: .disabled
        )
        configuration.httpVersion = .http1Only
        configuration.tracing.tracer = nil
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    deinit {
        // Does not wait, because the client keeps itself alive until its connections are closed. Ignores a failed
        // shutdown, because nothing uses the client any more.
        client.shutdown { _ in }
    }

    /// Returns `nil` if no complete answer arrives in time.
    func ask(_ method: HTTPMethod, _ url: String, headers: [(String, String)] = []) async -> Answer? {
        var request = HTTPClientRequest(url: url)
        request.method = method
        request.headers = HTTPHeaders(headers)
        do {
            let response = try await client.execute(request, timeout: TimeAmount(timeout))
            let deadline = ContinuousClock.now + timeout
            var body: [UInt8] = []
            for try await chunk in response.body {
                body += chunk.readableBytesView
                guard body.count <= Self.mostBytes, ContinuousClock.now < deadline else { return nil }
            }
            return Answer(status: Int(response.status.code), body: body)
        } catch {
            // Returns `nil` for any error, because most machines have no such service.
            return nil
        }
    }

    /// Parses the JSON document in which the credential services return keys.
    static func credentials(_ body: [UInt8], from service: String) throws(FleetError) -> S3Credentials {
        do {
            let keys = try JSONDecoder().decode(Keys.self, from: Data(body))
            return S3Credentials(
                accessKey: keys.AccessKeyId,
                secretKey: keys.SecretAccessKey,
                sessionToken: keys.Token,
                expires: keys.Expiration.flatMap(Self.date)
            )
        } catch {
            // The message must not quote the document, which may hold a part of the keys.
            throw FleetError(.destinationRefused, "\(service) gave an answer that holds no keys.")
        }
    }

    /// Parses an ISO 8601 date with or without fractions of a second.
    private static func date(_ text: String) -> Date? {
        // Keys with an unreadable date are used until the store refuses them.
        (try? Date(text, strategy: .iso8601))
            ?? (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }

    private struct Keys: Decodable {
        var AccessKeyId: String
        var SecretAccessKey: String
        var Token: String?
        var Expiration: String?
    }
}
