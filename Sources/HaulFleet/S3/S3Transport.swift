internal import AsyncHTTPClient
internal import Foundation
internal import HaulKit
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

/// Sends signed requests unchanged and reads responses of limited size.
final class S3Transport: Sendable {
    /// Maximum length of a response body. A page of ListParts has 1,000 parts of about 400 bytes.
    static let mostBytes = 4 << 20
    /// Maximum time for reading a response body.
    static let answerTime = Duration.seconds(300)

    private let client: HTTPClient
    private let idleTimeout: Duration

    /// - Throws: ``FleetError/Code/invalidInput`` if the file of certificates cannot be read.
    init(_ settings: S3Settings) throws(FleetError) {
        idleTimeout = settings.idleTimeout
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let path = settings.certificateAuthorities {
            do { tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(path))] } catch {
                throw FleetError(
                    .invalidInput,
                    "The certificates in \(path) cannot be read. The file must be in PEM form."
                )
            }
        }
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls,
            redirectConfiguration: .disallow,
            timeout: .init(
                connect: TimeAmount(settings.connectTimeout),
                read: TimeAmount(settings.idleTimeout),
                write: TimeAmount(settings.idleTimeout)
            ),
            decompression: .disabled
        )
        configuration.httpVersion = .http1Only
        configuration.tracing.tracer = nil
        // Sets a limit that is never reached, because ``RequestPacer`` limits the simultaneous requests.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = max(8, settings.connections)
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.http1_1ConnectionDebugInitializer = { RequestTargetHandler.add(to: $0) }
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    deinit {
        // Does not wait, because the client keeps itself alive until its connections are closed. Ignores a failed
        // shutdown, because nothing uses the client any more.
        client.shutdown { _ in }
    }

    /// Sends a request and reads its response.
    ///
    /// - Parameters:
    ///   - path: with its query, exactly as signed.
    ///   - headers: the signed fields, including `Host` and `Authorization`.
    /// - Throws: ``Fault`` if there is no complete response.
    func send(
        _ request: S3Request,
        to target: S3Endpoint.Target,
        path: String,
        headers: [(String, String)]
    ) async throws(Fault) -> S3Response {
        let watch = BodyWatch()
        var message = HTTPClientRequest(url: target.origin)
        message.method = HTTPMethod(rawValue: request.method)
        message.headers = HTTPHeaders(headers)
        RequestTargetHandler.set(path, in: &message.headers)
        switch request.payload {
        case .none: break
        case .bytes(let bytes, _): message.body = .bytes(ByteBuffer(bytes: bytes))
        case .region(let region, _): message.body = .stream(WatchedBody(region, watch), length: .known(region.count))
        }
        do {
            // Limits the whole request, because a store that sends single bytes forever never reaches the idle timeout.
            // The idle timeout ends a request to a silent store sooner.
            let longest = TimeAmount.minutes(10) + .seconds(request.payload.count / (32 << 10))
            let deadline = NIODeadline.now() + longest
            guard case .region = request.payload else {
                return try await Self.read(client.execute(message, deadline: deadline))
            }
            let complete = message
            return try await watch.ending(afterSilenceOf: idleTimeout) { [client] in
                try await Self.read(client.execute(complete, deadline: deadline))
            }
        } catch {
            throw Fault(error, idleTimeout: idleTimeout)
        }
    }

    private static func read(_ response: HTTPClientResponse) async throws -> S3Response {
        var headers: [String: String] = [:]
        for (name, value) in response.headers where headers[name.lowercased()] == nil {
            headers[name.lowercased()] = value
        }
        let deadline = ContinuousClock.now + answerTime
        var body: [UInt8] = []
        for try await chunk in response.body {
            body += chunk.readableBytesView
            guard body.count <= mostBytes else { throw Fault(.broken("it sent an answer longer than 4 MiB")) }
            guard ContinuousClock.now < deadline else { throw Fault(.broken("its answer took longer than 5 minutes")) }
        }
        return S3Response(status: Int(response.status.code), headers: headers, body: body)
    }

    /// Reason why there is no response.
    struct Fault: Error {
        enum Kind {
            /// The exchange failed. The text is a clause, for example "it closed the connection".
            case broken(String)
            /// No connection was made, so nothing was sent. The text is a clause.
            case unreachable(String)
            /// Reading the file to send failed.
            case local(FleetError)
            case cancelled
        }

        var kind: Kind

        init(_ kind: Kind) { self.kind = kind }

        init(_ error: any Error, idleTimeout: Duration) {
            kind =
                switch error {
                case let error as Fault: error.kind
                case let error as FleetError: .local(error)
                case is CancellationError: .cancelled
                case let error as HTTPClientError: Self.kind(error, idleTimeout)
                case let error as NIOConnectionError: .unreachable("no connection could be made: \(Self.reason(error))")
                case let error as IOError: Self.kind(error)
                case is BodyWatch.Silence: .broken("nothing came or went for \(idleTimeout.components.seconds) s")
                default:
                    TLSFailure(of: error).map { .unreachable($0.clause) }
                        ?? .broken("the connection broke: \(String("\(error)".prefix(200)))")
                }
        }

        private static func kind(_ error: IOError) -> Kind {
            let reason = SystemCalls.describe(errno: error.errnoCode)
            return switch error.errnoCode {
            case EMFILE, ENFILE, ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ENETDOWN:
                .unreachable("no connection could be made: \(reason)")
            default: .broken("the connection broke: \(reason)")
            }
        }

        private static func kind(_ error: HTTPClientError, _ idleTimeout: Duration) -> Kind {
            switch error {
            case .cancelled: .cancelled
            case .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout:
                .unreachable("no connection could be made in time")
            case .readTimeout, .writeTimeout:
                .broken("nothing came or went for \(idleTimeout.components.seconds) s")
            case .deadlineExceeded: .broken("the request took too long")
            case .remoteConnectionClosed, .uncleanShutdown: .broken("it closed the connection")
            default: .broken(error.shortDescription)
            }
        }

        private static func reason(_ error: NIOConnectionError) -> String {
            guard let failure = error.connectionErrors.first else { return "its name cannot be resolved" }
            guard let failure = failure.error as? IOError else { return String("\(failure.error)".prefix(200)) }
            return SystemCalls.describe(errno: failure.errnoCode)
        }
    }
}
