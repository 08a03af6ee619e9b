internal import HTTPTypes

/// Whether a request comes from a page of this server, or from no page at all. Requests with a bearer token are not asked: a
/// browser never adds one by itself.
struct OriginCheck: Sendable {
    enum Kind {
        /// GET and HEAD: they change nothing.
        case reading
        /// A navigation to the page itself, which may follow a link from anywhere.
        case page
        case writing
    }

    /// - Parameter isSecure: the browser reached this server over TLS, through a trusted proxy.
    static func check(_ request: HTTPRequest, _ kind: Kind, isSecure: Bool) throws(Problem) {
        if case .page = kind { return }
        let site = request.headerFields.text("Sec-Fetch-Site")
        if let site, site != "same-origin", site != "none" {
            throw refused("Sec-Fetch-Site: \(HostCheck.printable(site))")
        }
        if let origin = request.headerFields[.origin] {
            let own = (isSecure ? "https://" : "http://") + (request.authority ?? "").lowercased()
            guard origin.lowercased() == own else { throw refused("Origin: \(HostCheck.printable(origin))") }
            return
        }
        if case .writing = kind, site == nil {
            throw Problem(
                .forbidden,
                "originMissing",
                "A request that changes something must carry Origin, Sec-Fetch-Site or a bearer token.",
                suggestion: "Send Authorization: Bearer TOKEN."
            )
        }
    }

    private static func refused(_ field: String) -> Problem {
        Problem(.forbidden, "originNotAllowed", "The request comes from another site (\(field)).")
    }
}
