import AsyncHTTPClient
import CHaulSystem
import Foundation
import HaulKit
import HaulServer
import NIOCore
import NIOHTTP1

/// Sends requests to the daemon over its Unix socket.
struct DaemonClient: Sendable {
    let socket: String

    /// Longest wait for a daemon that holds its lock but does not listen yet.
    private static let patience = Duration.seconds(10)
    private static let limit = 64 << 20

    /// Client that fails at once if nothing listens. `HTTPClient.shared` would try for a minute and a half to reach a
    /// daemon that has ended. Neither of the two clients is ever shut down.
    private static let http: HTTPClient = {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// - Parameter stateFolder: folder of the daemon's lock; `nil` if only its socket is known.
    /// - Throws: ``Complaint`` if nothing listens at the socket, or a daemon of another state folder does.
    static func connected(_ socket: String, stateFolder: String?) async throws -> DaemonClient {
        let deadline = ContinuousClock.now + patience
        while true {
            let code = attempt(socket)
            if code == 0 {
                let client = DaemonClient(socket: socket)
                if let stateFolder { try await client.checkIsOf(stateFolder) }
                return client
            }
            guard code == ENOENT || code == ECONNREFUSED else {
                throw Complaint(
                    "The socket \(socket) cannot be used: \(String(cString: strerror(code))).",
                    .otherFailure
                )
            }
            guard let stateFolder, DaemonLock.isHeld(stateFolder), .now < deadline else { throw missing(socket) }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Returns the daemon that the system runs for this user, or `nil` if there is none.
    static func ofSystem() -> DaemonClient? {
        let socket = "/run/haul-\(NSUserName())/daemon.sock"
        return attempt(socket) == 0 ? DaemonClient(socket: socket) : nil
    }

    /// - Throws: ``Complaint`` unless the daemon has this state folder. A request for one daemon must not change the
    ///   downloads of another.
    private func checkIsOf(_ stateFolder: String) async throws {
        let other = try await identity().stateFolder
        guard !Self.isSameFolder(other, stateFolder) else { return }
        throw Complaint(
            """
            The daemon that listens at \(socket) has another state folder: \(other), not \(stateFolder). It was asked for nothing. \
            Start one for this folder with a socket of its own (haul serve --state-dir DIR --socket PATH), or name the other \
            daemon with --socket \(socket).
            """,
            .inUse
        )
    }

    private static func isSameFolder(_ one: String, _ other: String) -> Bool {
        var (first, second) = (stat(), stat())
        guard one != other, stat(one, &first) == 0, stat(other, &second) == 0 else { return one == other }
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }

    /// Asks the daemon for its state folder, process, version and notice of the store.
    func identity() async throws -> DaemonIdentity { try await value(.GET, "/api/v1/daemon") }

    private static func missing(_ socket: String) -> Complaint {
        Complaint(
            """
            No daemon is running (nothing listens at \(socket)). Start one with: haul serve; or at every login with: \
            haul service install
            """,
            .otherFailure
        )
    }

    /// - Returns: 0, or the errno of connecting.
    private static func attempt(_ socket: String) -> Int32 {
        let descriptor = haul_connect_local(socket, UInt64(socket.utf8.count), 0)
        guard descriptor >= 0 else { return errno }
        close(descriptor)
        return 0
    }

    // MARK: Requests

    private func request(_ method: HTTPMethod, _ path: String, _ query: [(String, String?)]) throws -> HTTPClientRequest
    {
        var parts = URLComponents()
        parts.queryItems = query.compactMap { name, value in value.map { URLQueryItem(name: name, value: $0) } }
        // Escapes plus signs, because in a query a plus sign means a blank. `URLComponents` leaves them as they are.
        let text = (parts.percentEncodedQuery ?? "").replacing("+", with: "%2B")
        guard let url = URL(httpURLWithSocketPath: socket, uri: path + (text.isEmpty ? "" : "?" + text)) else {
            throw Complaint("The path of the socket cannot be used: \(socket)", .usage)
        }
        var request = HTTPClientRequest(url: url.absoluteString)
        request.method = method
        return request
    }

    /// - Returns: the body of the answer.
    /// - Throws: ``Complaint`` if the daemon answers with a ``Problem``, or does not answer.
    @discardableResult
    func send(
        _ method: HTTPMethod,
        _ path: String,
        query: [(String, String?)] = [],
        _ body: [String: JSONValue]? = nil
    ) async throws -> Data {
        var request = try request(method, path, query)
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: try JSONEncoder().encode(body)))
        }
        let notice = Task {
            do { try await Task.sleep(for: .seconds(5)) } catch { return }
            Output.error("The daemon has not answered yet. Waiting for it; Ctrl-C ends this command and nothing else.")
        }
        defer { notice.cancel() }
        do {
            let response = try await Self.http.execute(request, timeout: .minutes(10))
            let data = Data(try await response.body.collect(upTo: Self.limit).readableBytesView)
            guard response.status.code < 300 else { throw Complaint(problem: data, status: response.status.code) }
            return data
        } catch let complaint as Complaint { throw complaint } catch {
            throw Complaint("The daemon does not answer any longer.", .otherFailure)
        }
    }

    /// Sends a request and decodes the body of the answer.
    func value<Value: Decodable>(
        _ method: HTTPMethod,
        _ path: String,
        query: [(String, String?)] = [],
        _ body: [String: JSONValue]? = nil
    ) async throws -> Value {
        try Self.decoded(Value.self, await send(method, path, query: query, body))
    }

    static func decoded<Value: Decodable>(_ type: Value.Type = Value.self, _ data: Data) throws -> Value {
        do { return try JSONDecoder().decode(type, from: data) } catch {
            throw Complaint("The answer of the daemon cannot be read. Is it another version of Haul?", .otherFailure)
        }
    }

    /// Opens the stream of events, which lasts until the daemon ends.
    func events() async throws -> HTTPClientResponse.Body {
        guard Self.attempt(socket) == 0 else { throw Self.missing(socket) }
        var request = try request(.GET, "/api/v1/events", [])
        request.headers.add(name: "Accept", value: "text/event-stream")
        let response = try await Self.http.execute(request, deadline: .distantFuture)
        guard response.status == .ok else {
            let data = Data(try await response.body.collect(upTo: Self.limit).readableBytesView)
            throw Complaint(problem: data, status: response.status.code)
        }
        return response.body
    }
}

extension Complaint {
    /// Reads the problem in the answer to a failed request.
    init(problem data: Data, status: UInt) {
        // An answer that is no ``Problem`` comes from a program that is not Haul's daemon.
        guard let problem = try? JSONDecoder().decode(Problem.self, from: data) else {
            self.init("The daemon answered with status \(status).", .otherFailure)
            return
        }
        self.init(problem)
    }

    init(_ problem: Problem) {
        let text = [problem.detail, problem.suggestion].compactMap(\.self).joined(separator: " ")
        self.init(
            problem.cause.map { "\(text) (\($0))" } ?? text,
            ExitStatus(problemCode: problem.code),
            problemCode: problem.code
        )
    }
}

extension ExitStatus {
    /// Maps a problem code of the API to an exit status.
    init(problemCode code: String) {
        if let code = DownloadError.Code(rawValue: code) {
            self.init(code)
            return
        }
        switch code {
        case "forbiddenFolder", "invalidField", "unknownField", "missingField", "badRequest", "tooManyItems",
            "uriTooLong", "contentTooLarge":
            self = .usage
        case "folderNotMade", "settingsNotSaved": self = .disk
        default: self = .otherFailure
        }
    }
}
