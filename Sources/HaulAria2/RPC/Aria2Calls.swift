internal import NIOCore

/// Carries out calls one after another. Checks and removes the token, and carries out the calls of `system.multicall`.
/// Each HTTP request and each WebSocket message has its own value of this type.
struct Aria2Calls {
    private let methods: any Aria2Methods
    private let secret: Aria2Secret?
    /// Number of bytes that the results of one request may still take. The results take about twice this number in
    /// memory, and as much again while they are written.
    private(set) var room = 12 << 20
    /// Whether a call had no token or a wrong one.
    private(set) var isUnauthorized = false
    /// Whether a call had the right token, or no token is needed.
    private(set) var isAuthorized: Bool

    /// Maximum number of calls in one request.
    static let most = 10_000

    init(_ methods: any Aria2Methods, _ secret: Aria2Secret?) {
        (self.methods, self.secret) = (methods, secret)
        isAuthorized = secret == nil
    }

    /// Methods that need no token.
    private static let open: Set<String> = ["system.listMethods", "system.listNotifications"]
    private static let system = ["system.multicall", "system.listMethods", "system.listNotifications"]

    mutating func call(_ name: String, _ parameters: [Aria2Value]) async -> Result<Aria2Value, Aria2CallError> {
        guard room > 0 else { return .failure(.tooMuch) }
        if name == "system.multicall" { return await multicall(parameters, failed: Self.asJSON) }
        return await one(name, parameters)
    }

    private mutating func one(_ name: String, _ parameters: [Aria2Value]) async -> Result<Aria2Value, Aria2CallError> {
        var parameters = parameters
        let token = Aria2Token.take(from: &parameters)
        if let secret, !Self.open.contains(name) {
            guard let token, secret.isEqual(to: token) else {
                isUnauthorized = true
                return .failure(.unauthorized)
            }
            isAuthorized = true
        }
        switch name {
        case "system.listMethods":
            return .success(.list((Aria2Method.allCases.map(\.rawValue) + Self.system).map { .text($0) }))
        case "system.listNotifications":
            return .success(.list(Aria2Notification.Name.allCases.map { .text($0.rawValue) }))
        default: break
        }
        do throws(Aria2Error) {
            let result = try await methods.call(name, parameters)
            room -= result.weight
            return .success(result)
        } catch { return .failure(Aria2CallError(error.message)) }
    }

    // MARK: Many

    static func asJSON(_ failure: Aria2CallError) -> Aria2Value {
        ["code": .integer(failure.code), "message": .text(failure.message)]
    }

    static func asXML(_ failure: Aria2CallError) -> Aria2Value {
        ["faultCode": .integer(failure.code), "faultString": .text(failure.message)]
    }

    /// Carries out the calls of `system.multicall`. Returns a list with an element for each call: a list of its result,
    /// or a structure with the error. Each call has its own token.
    mutating func multicall(
        _ parameters: [Aria2Value],
        failed: (Aria2CallError) -> Aria2Value
    ) async -> Result<Aria2Value, Aria2CallError> {
        var parameters = parameters
        _ = Aria2Token.take(from: &parameters)
        guard let first = parameters.first else {
            return .failure(Aria2CallError("The parameter at 0 is required but missing."))
        }
        guard case .list(let calls) = first else {
            return .failure(Aria2CallError("The parameter at 0 has wrong type."))
        }
        guard calls.count <= Self.most else {
            return .failure(Aria2CallError("system.multicall takes at most \(Self.most) calls at once."))
        }
        var results: [Aria2Value] = []
        results.reserveCapacity(calls.count)
        for call in calls {
            switch await nested(call) {
            case .success(let result): results.append(.list([result]))
            case .failure(let failure): results.append(failed(failure))
            }
        }
        return .success(.list(results))
    }

    private mutating func nested(_ call: Aria2Value) async -> Result<Aria2Value, Aria2CallError> {
        guard case .structure(let members) = call else {
            return .failure(Aria2CallError("system.multicall expected struct."))
        }
        guard case .text(let name)? = members["methodName"] else {
            return .failure(Aria2CallError("Missing methodName."))
        }
        guard name != "system.multicall" else {
            return .failure(Aria2CallError("Recursive system.multicall forbidden."))
        }
        guard room > 0 else { return .failure(.tooMuch) }
        guard case .list(let parameters)? = members["params"] else { return await one(name, []) }
        return await one(name, parameters)
    }
}

/// Carries out the methods of aria2. The token has been removed from the parameters.
protocol Aria2Methods: Sendable {
    func call(_ method: String, _ parameters: [Aria2Value]) async throws(Aria2Error) -> Aria2Value
}
