internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOHTTP1

/// Short requests to the services of a cloud machine that give out keys.
///
/// These answer within milliseconds or, where there are none, not at all: hence a second for each, and one attempt.
final class MetadataService: Sendable {
    struct Answer {
        var status: Int
        var body: [UInt8]
    }

    private static let mostBytes = 64 << 10
    private let client: HTTPClient
    private let timeout: Duration

    init(timeout: Duration = .seconds(1)) {
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
        // It keeps itself until its connections are closed, and there is nothing to tell anybody of a failure.
        client.shutdown { _ in }
    }

    /// - Returns: nil where nothing answers in time.
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
            // On most machines there is no such service: that is no failure, and the next source is asked.
            return nil
        }
    }

    /// Keys as these services write them.
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
            // What was read must not be quoted: it may hold half of the keys.
            throw FleetError(.destinationRefused, "\(service) gave an answer that holds no keys.")
        }
    }

    /// ISO 8601, with or without fractions of a second.
    private static func date(_ text: String) -> Date? {
        // Without a date that can be read the keys are used until they are refused.
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
