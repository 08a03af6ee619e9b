internal import HTTPTypes

/// Checks whether a request comes from a page of this server, or from no page. The gate does not check requests with a
/// bearer token, because a browser never adds one by itself.
struct OriginCheck: Sendable {
    enum Kind {
        /// GET and HEAD, which change nothing.
        case reading
        /// A navigation to the page, which may come from a link on any site.
        case page
        case writing
    }

    /// - Parameter isSecure: whether the browser reached this server over TLS, through a trusted proxy.
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

    /// Checks that a request for a key comes from a program or a browser extension, not from a web page. Such a request
    /// has a one-time code in place of a sign-in.
    static func checkExtension(_ request: HTTPRequest) throws(Problem) {
        // A request without `Origin` comes from a program: browsers send the field with each POST. For a
        // sandboxed page they send `null`.
        guard let origin = request.headerFields[.origin] else { return }
        let schemes = ["chrome-extension://", "moz-extension://"]
        guard schemes.contains(where: { origin.lowercased().hasPrefix($0) }) else {
            throw refused("Origin: \(HostCheck.printable(origin))")
        }
    }

    private static func refused(_ field: String) -> Problem {
        Problem(.forbidden, "originNotAllowed", "The request comes from another site (\(field)).")
    }
}
