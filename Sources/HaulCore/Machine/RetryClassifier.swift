/// The table that decides which failures are worth another attempt, and names the error of each.
package enum RetryClassifier {
    /// Whether to try again after a failed attempt, and the error of the failure.
    package struct Decision: Sendable, Equatable {
        package let isWorthRetrying: Bool
        package let error: DownloadError

        package init(isWorthRetrying: Bool, error: DownloadError) {
            self.isWorthRetrying = isWorthRetrying
            self.error = error
        }
    }

    package static func decision(on failure: TransportError, host: String) -> Decision {
        if let report = failure.report {
            return Decision(isWorthRetrying: failure.isReportPassing == true, error: report)
        }
        let host = failure.host ?? host
        let cause = failure.detail.isEmpty ? nil : failure.detail
        if let proxy = failure.proxy {
            let (isWorthRetrying, message) = text(of: failure.kind, ofProxy: proxy, host)
            return Decision(isWorthRetrying: isWorthRetrying, error: DownloadError(.proxyFailed, message, cause: cause))
        }
        let (isWorthRetrying, code, message) = text(of: failure.kind, ofServer: host)
        return Decision(isWorthRetrying: isWorthRetrying, error: DownloadError(code, message, cause: cause))
    }

    /// Returns whether to try a failed server again, and the code and the message of the failure.
    private static func text(of kind: TransportError.Kind, ofServer host: String)
        -> (Bool, DownloadError.Code, String)
    {
        // Whether to retry, and why:
        switch kind {
        case .invalidURL:  // it will not become valid
            (false, .invalidURL, "This URL cannot be downloaded.")
        case .bindingFailed:  // a tunnel that is being set up again
            (true, .connectionFailed, "The network that connections are to go out through cannot be used.")
        case .nameNotResolved:  // Wi-Fi that is just coming back fails like this
            (true, .nameNotResolved, "The name \(host) could not be found. Check the spelling and the network.")
        case .addressDenied:  // the settings do not change by waiting
            (
                false,
                .addressDenied,
                "\(host) has an address that downloads may not connect to here. The settings allow others only."
            )
        case .connectionRefused:  // a server that restarts
            (true, .connectionFailed, "\(host) refuses connections. Check the address and port, or try again later.")
        case .connectionFailed:
            (true, .connectionFailed, "No connection to \(host) could be made. Check the network.")
        case .tooManyOpenFiles:  // other files will be closed
            (
                true,
                .tooManyOpenFiles,
                "Too many files are open for a connection to \(host). Raise the limit (ulimit -n) or run fewer downloads at once."
            )
        case .connectTimeout, .responseTimeout:
            (true, .timedOut, "\(host) did not answer in time.")
        case .stalled:
            (true, .timedOut, "\(host) stopped sending.")
        case .connectionLost:
            (true, .connectionLost, "The connection to \(host) broke.")
        case .tlsRefused:  // the same certificate would come again
            (false, .tlsFailed, "The certificate of \(host) could not be verified by the trusted authorities.")
        case .proxyFailed:  // the proxy may reach the server later
            (true, .proxyFailed, "The proxy did not reach \(host).")
        case .proxyRefused:  // the settings of the proxy do not change by waiting
            (false, .proxyFailed, "The proxy did not make the connection to \(host).")
        case .tooManyRedirects:
            (false, .tooManyRedirects, "The server redirects without end.")
        case .insecureRedirect:
            (
                false,
                .insecureRedirect,
                "The server redirects from https to http, where anyone on the way could change the file. Haul does not follow."
            )
        case .badRedirect:
            (false, .malformedResponse, "The server redirects to something that is no http or https URL.")
        case .malformedResponse:  // a truncated or garbled head may be an accident on the way
            (true, .malformedResponse, "\(host) sent an answer that is not proper HTTP.")
        }
    }

    /// Returns whether to try a failed proxy again, and the message of the failure.
    private static func text(of kind: TransportError.Kind, ofProxy proxy: String, _ host: String) -> (Bool, String) {
        switch kind {
        case .nameNotResolved:
            (true, "The name of the proxy \(proxy) could not be found. Check the proxy settings and the network.")
        case .connectionRefused:  // a proxy that restarts
            (true, "The proxy \(proxy) refuses connections. Check the proxy settings, or try again later.")
        case .connectTimeout: (true, "The proxy \(proxy) did not answer in time.")
        case .malformedResponse: (true, "The proxy \(proxy) sent an answer that is not proper HTTP.")
        case .proxyFailed: (true, "The proxy \(proxy) did not reach \(host).")
        case .proxyRefused: (false, "The proxy \(proxy) did not make the connection to \(host).")
        default: (true, "No connection to the proxy \(proxy) could be made. Check the proxy settings and the network.")
        }
    }

    /// - Parameter credentials: the source of the credentials in the refused request; `nil` if there were none.
    package static func decision(
        on refusal: RangeResponse.Refusal,
        host: String,
        isRedirected: Bool,
        credentials: CredentialSource? = nil
    ) -> Decision {
        switch refusal {
        case .webPage:  // the portal goes away once the user has logged in; what is on disk is kept
            Decision(
                isWorthRetrying: true,
                error: DownloadError(
                    .unexpectedWebPage,
                    "A web page came instead of the file: perhaps a login page or a Wi-Fi portal. What arrived before is kept."
                )
            )
        case .malformed(let detail):
            decision(on: TransportError(.malformedResponse, detail), host: host)
        case .otherPieces(let actual):
            Decision(
                isWorthRetrying: false,
                error: DownloadError(
                    .contentChanged,
                    "The file at \(host) has \(actual) bytes, which is not what the digests of its pieces are for."
                )
            )
        case .otherSize(let expected, let actual):
            Decision(
                isWorthRetrying: false,
                error: DownloadError(
                    .contentChanged,
                    "The file at \(host) has \(actual) bytes, not \(expected) as it should."
                )
            )
        case .status(let status):
            Decision(
                isWorthRetrying: isWorthRetrying(status: status, isRedirected: isRedirected),
                error: DownloadError(refusedWith: status, credentials: credentials)
            )
        }
    }

    /// Returns whether a status is worth another attempt.
    ///
    /// The causes of 408, 425, 429 and 5xx are temporary, except 501 and 505, which state an inability. A 401, 403, 404
    /// or 410 behind a redirect may mean an expired link, and a request for the original URL gets a fresh one. Every
    /// other 4xx is final.
    package static func isWorthRetrying(status: Int, isRedirected: Bool) -> Bool {
        switch status {
        case 408, 425, 429: true
        case 501, 505: false
        case 500...599: true
        case 401, 403, 404, 410: isRedirected
        default: false
        }
    }
}
