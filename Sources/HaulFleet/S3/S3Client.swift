internal import Foundation
internal import HaulKit
internal import Logging

/// Sends signed requests to one bucket of an S3-compatible store. Repeats failed requests if that may help, and limits
/// the requests of the whole client.
///
/// Each attempt has a new signature, because temporary keys or the timestamp of the previous signature may have
/// expired.
final class S3Client: Sendable {
    let settings: S3Settings
    let endpoint: S3Endpoint
    private let credentials: S3CredentialCache
    private let transport: S3Transport
    private let pacer: RequestPacer
    private let state: State
    private let logger: Logger
    private let now: @Sendable () -> Date

    /// Facts that the store has reported about itself.
    private actor State {
        var region: String
        /// Seconds by which the store's clock is ahead of this machine's.
        var clockOffset: TimeInterval = 0

        init(region: String) { self.region = region }

        func set(region: String) { self.region = region }
        func set(clockOffset: TimeInterval) { self.clockOffset = clockOffset }
    }

    /// - Throws: ``FleetError/Code/invalidInput`` for a malformed endpoint or region.
    init(
        _ settings: S3Settings,
        credentials: S3CredentialCache,
        logger: Logger,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws(FleetError) {
        self.settings = settings
        self.credentials = credentials
        self.logger = logger
        self.now = now
        endpoint = try S3Endpoint(settings)
        transport = try S3Transport(settings)
        state = State(region: settings.region)
        pacer = RequestPacer(connections: settings.connections, backoff: settings.backoff(.part(2)))
    }

    /// Remedies already used for a request. Each permits an immediate repetition only once or twice.
    private struct Remedies {
        var redirects = 0
        var target: S3Endpoint.Target?
        var hasAskedWhy = false
        var hasSetClock = false
        var hasRenewedKeys = false
    }

    /// Sends a request until a 2xx response arrives or nothing is left to try.
    func send(_ request: S3Request) async throws(S3Failure) -> S3Response {
        var (attempt, remedies) = (1, Remedies())
        while true {
            let keys: S3Credentials
            do throws(FleetError) { keys = try await credentials.credentials() } catch {
                throw S3Failure(error.blamingNoFile())
            }
            let region = await state.region
            var failure: S3Failure
            do throws(S3Failure) { return try await self.attempt(request, keys, region, remedies.target) } catch {
                failure = error
            }
            if request.method == "HEAD", [400, 403].contains(failure.status), !remedies.hasAskedWhy {
                remedies.hasAskedWhy = true
                failure = await explanation(of: failure, keys, region)
            }
            if try await remedy(failure, request, keys, region, &remedies) { continue }
            guard failure.isTransient, attempt < settings.attempts else { throw failure }
            logger.debug("\(request.method) is sent again: \(failure.code) \(failure.error)")
            let delay = settings.backoff(.full).delay(failures: attempt, fraction: .random(in: 0...1))
            do { try await Task.sleep(for: delay) } catch { throw S3Failure(Self.cancellation) }
            attempt += 1
        }
    }

    private func attempt(
        _ request: S3Request,
        _ keys: S3Credentials,
        _ region: String,
        _ redirected: S3Endpoint.Target?
    ) async throws(S3Failure) -> S3Response {
        do throws(CancellationError) { try await pacer.enter() } catch { throw S3Failure(Self.cancellation) }
        let result: Result<S3Response, S3Failure>
        do throws(S3Failure) {
            result = .success(try await exchange(request, keys, region, redirected))
            await pacer.succeeded()
        } catch {
            result = .failure(error)
            if error.asksForLess { await pacer.slowDown() }
        }
        await pacer.leave()
        return try result.get()
    }

    private func exchange(
        _ request: S3Request,
        _ keys: S3Credentials,
        _ region: String,
        _ redirected: S3Endpoint.Target?
    ) async throws(S3Failure) -> S3Response {
        let target = redirected ?? endpoint.target(region: region, key: request.key)
        let query = S3Encoding.query(request.query)
        let headers = RequestSigner(credentials: keys, region: region).sign(
            method: request.method,
            path: target.path,
            query: query,
            authority: target.authority,
            headers: request.headers,
            payloadHash: request.payload.hash,
            at: now().addingTimeInterval(await state.clockOffset)
        )
        let response: S3Response
        do throws(S3Transport.Fault) {
            response = try await transport.send(
                request,
                to: target,
                path: query.isEmpty ? target.path : "\(target.path)?\(query)",
                headers: headers
            )
        } catch {
            switch error.kind {
            case .local(let error): throw S3Failure(error)
            case .cancelled: throw S3Failure(Self.cancellation)
            case .broken(let reason): throw broken(reason)
            case .unreachable(let reason):
                var failure = broken(reason)
                failure.error.blamesNoFile = true
                throw failure
            }
        }
        guard (200..<300).contains(response.status) else { throw failure(response) }
        if request.canFailLate {
            // A truncated document counts as no response.
            guard let document = S3XML(response.body) else { throw broken("its answer breaks off") }
            if document.name == "Error" { throw failure(response) }
        }
        if let reason = request.lack(response) { throw broken(reason) }
        return response
    }

    func failure(_ response: S3Response) -> S3Failure {
        S3Failure(response, store: endpoint.name, bucket: settings.bucket)
    }

    /// Makes the failure for an unreachable store or an unusable response. A repetition may help.
    func broken(_ reason: String) -> S3Failure {
        var failure = S3Failure(
            FleetError(.destinationUnreachable, "\(endpoint.name) cannot be used now: \(reason).")
        )
        failure.isTransient = true
        return failure
    }

    /// Finds the reason of a refused HEAD request, whose response has no document. Sends a GET with the same keys,
    /// because its error document says whether the keys, the clock or the region is the reason.
    private func explanation(
        of refusal: S3Failure,
        _ keys: S3Credentials,
        _ region: String
    ) async -> S3Failure {
        let query = [("list-type", "2"), ("max-keys", "1"), ("prefix", "\u{1}")]
        do throws(S3Failure) {
            _ = try await attempt(S3Request(method: "GET", query: query), keys, region, nil)
            return refusal
        } catch {
            return error.status == 0 || error.code == "AccessDenied" ? refusal : error
        }
    }

    /// Corrects the cause of a failure: the clock, the keys, the region or the redirect target.
    ///
    /// - Parameter region: the region of the failed request's signature. Another request may have corrected the
    ///   client's region meanwhile.
    /// - Returns: whether the request may be repeated at once.
    private func remedy(
        _ failure: S3Failure,
        _ request: S3Request,
        _ keys: S3Credentials,
        _ region: String,
        _ remedies: inout Remedies
    ) async throws(S3Failure) -> Bool {
        switch failure.code {
        case "RequestTimeTooSkewed":
            guard !remedies.hasSetClock, let date = failure.date.flatMap(HTTPDate.parse) else { return false }
            remedies.hasSetClock = true
            await state.set(clockOffset: date.timeIntervalSince(now()))
            logger.warning(
                "The clock of this machine differs from that of the store by more than it accepts; its time is used."
            )
            return true
        case "ExpiredToken", "TokenRefreshRequired", "RequestExpired", "InvalidToken":
            guard !remedies.hasRenewedKeys else { return false }
            remedies.hasRenewedKeys = true
            do throws(FleetError) { return try await credentials.replacement(for: keys) != nil } catch {
                throw S3Failure(error.blamingNoFile())
            }
        // Stores deny access to keys that were exchanged, and some of them to keys that have expired.
        case "AccessDenied", "InvalidAccessKeyId", "InvalidClientTokenId":
            guard !remedies.hasRenewedKeys else { return false }
            remedies.hasRenewedKeys = true
            // Without an answer of the credentials' source, the answer of the store stays the error.
            do throws(FleetError) { return try await credentials.replacement(for: keys) != nil } catch { return false }
        default: break
        }
        guard remedies.redirects < 2 else { return false }
        // Responses with 400 or 403 also name the bucket's region if the signature has another region. Responses to
        // HEAD name it too, without a code.
        if let right = failure.region, right != region, [301, 307, 400, 403].contains(failure.status) {
            remedies.redirects += 1
            remedies.target = nil
            await state.set(region: right)
            return true
        }
        guard failure.status == 307, let location = failure.location else { return false }
        let target = remedies.target ?? endpoint.target(region: region, key: request.key)
        guard let next = endpoint.redirected(from: target, to: location) else { return false }
        remedies.redirects += 1
        remedies.target = next
        return true
    }

    static let cancellation = FleetError(.cancelled, "The request to the store was cancelled.")
}
