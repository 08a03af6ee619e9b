internal import HaulServer
internal import NIOHTTP1

/// Checks the head of a request: it must name an allowed host, and must not come from a page of another site unless the
/// origin of that page is allowed.
struct Aria2Rules: Sendable {
    private let hosts: HostCheck
    private let origins: Set<String>

    init(_ configuration: Aria2ServerConfiguration) {
        hosts = HostCheck(allowed: configuration.allowedHosts)
        origins = Set(configuration.allowedOrigins.map { $0.lowercased() })
    }

    struct Refusal: Error, Equatable {
        var status: HTTPResponseStatus
        var sentence: String
        var fields: HTTPHeaders = [:]
    }

    func check(_ head: HTTPRequestHead) throws(Refusal) {
        let names = head.headers["Host"]
        guard names.count == 1, let authority = names.first else {
            throw Refusal(status: .badRequest, sentence: "The request must have exactly one Host field.")
        }
        guard let host = HostCheck.name(authority), hosts.isAllowed(host) else {
            throw Refusal(
                status: .misdirectedRequest,
                sentence: "The host \(HostCheck.printable(authority)) is not allowed."
            )
        }
        if let origin = head.headers.first(name: "Origin") {
            guard isAllowed(origin: origin, authority) else {
                throw Refusal(
                    status: .forbidden,
                    sentence: "The request comes from another site (\(HostCheck.printable(origin)))."
                )
            }
        } else if let site = head.headers.first(name: "Sec-Fetch-Site"), site != "same-origin", site != "none" {
            // Without `Origin`, only `Sec-Fetch-Site` shows that a page of another site has caused the request.
            guard origins.contains("*") else {
                throw Refusal(status: .forbidden, sentence: "The request comes from another site.")
            }
        }
        try checkUpgrade(head)
    }

    /// Refuses an invalid WebSocket handshake (RFC 6455 §4.2), so that it is not answered as a call without parameters.
    private func checkUpgrade(_ head: HTTPRequestHead) throws(Refusal) {
        guard head.method == .GET, Aria2SharedParts.path(head.uri) == Aria2SharedParts.jsonPath,
            head.headers[canonicalForm: "Upgrade"].contains(where: { $0.lowercased() == "websocket" })
        else { return }
        guard head.headers[canonicalForm: "Connection"].contains(where: { $0.lowercased() == "upgrade" }) else {
            throw Refusal(status: .badRequest, sentence: "The handshake has no Connection: upgrade.")
        }
        guard head.headers[canonicalForm: "Sec-WebSocket-Version"] == ["13"] else {
            throw Refusal(
                status: .upgradeRequired,
                sentence: "The version of WebSocket is 13.",
                fields: ["Sec-WebSocket-Version": "13"]
            )
        }
    }

    private func isAllowed(origin: String, _ authority: String) -> Bool {
        let origin = origin.lowercased()
        let own = authority.lowercased()
        return origins.contains("*") || origins.contains(origin) || origin == "http://\(own)"
            || origin == "https://\(own)"
    }

    /// Returns the fields that let a page of another site read the response.
    func fields(for head: HTTPRequestHead) -> HTTPHeaders {
        guard !origins.isEmpty else { return [:] }
        if origins.contains("*") { return ["Access-Control-Allow-Origin": "*"] }
        guard let origin = head.headers.first(name: "Origin"), origins.contains(origin.lowercased()) else {
            return ["Vary": "Origin"]
        }
        return ["Access-Control-Allow-Origin": origin, "Vary": "Origin"]
    }

    /// Returns the fields of the answer to a CORS preflight.
    func preflight(_ head: HTTPRequestHead) -> HTTPHeaders {
        var fields = fields(for: head)
        guard fields.contains(name: "Access-Control-Allow-Origin"),
            head.headers.contains(name: "Access-Control-Request-Method")
        else { return fields }
        fields.add(name: "Access-Control-Allow-Methods", value: "POST, GET, OPTIONS")
        fields.add(name: "Access-Control-Max-Age", value: "1728000")
        if let wanted = head.headers.first(name: "Access-Control-Request-Headers") {
            fields.add(name: "Access-Control-Allow-Headers", value: wanted)
        }
        if head.headers.contains(name: "Access-Control-Request-Private-Network") {
            fields.add(name: "Access-Control-Allow-Private-Network", value: "true")
        }
        return fields
    }
}
