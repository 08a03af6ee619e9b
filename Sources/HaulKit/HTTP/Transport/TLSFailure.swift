internal import NIOSSL

/// Reasons why TLS with a server failed, in Haul's own words. The texts of NIOSSL contain the paths of its source files
/// on the machine that built it.
package enum TLSFailure: Sendable, Hashable, CaseIterable {
    case untrustedCertificate, otherHost, refusedCertificate
    case notTLS, noCommonVersion, handshakeRefused, closedInHandshake, brokenOff, unknown

    /// Maps a text of NIOSSL to a reason. Most texts of the table are parts of error names, which follow
    /// `OPENSSL_internal:`. The first one that occurs in `text` counts.
    ///
    /// - Parameter text: NIOSSL's text of an error.
    init(_ text: String) {
        let reasons: [(String, Self)] = [
            ("CERTIFICATE_VERIFY_FAILED", .untrustedCertificate),
            ("WRONG_VERSION_NUMBER", .notTLS), ("HTTP_REQUEST", .notTLS), ("HTTPS_PROXY_REQUEST", .notTLS),
            ("UNKNOWN_PROTOCOL", .notTLS), ("UNEXPECTED_MESSAGE", .brokenOff),
            ("UNSUPPORTED_PROTOCOL", .noCommonVersion), ("ALERT_PROTOCOL_VERSION", .noCommonVersion),
            ("WRONG_SSL_VERSION", .noCommonVersion), ("INSUFFICIENT_SECURITY", .noCommonVersion),
            ("NO_SHARED_CIPHER", .noCommonVersion), ("ALERT_HANDSHAKE_FAILURE", .handshakeRefused),
            ("UNRECOGNIZED_NAME", .handshakeRefused), ("ACCESS_DENIED", .handshakeRefused),
            // Alerts of the server about a certificate that it wants from Haul.
            ("CERTIFICATE", .refusedCertificate), ("ALERT_UNKNOWN_CA", .refusedCertificate),
            ("EOF during", .closedInHandshake), ("eofDuring", .closedInHandshake),
            ("ALERT", .brokenOff),
        ]
        self = reasons.first { text.contains($0.0) }?.1 ?? .unknown
    }

    init(_ error: NIOSSLExtraError) {
        switch error {
        case .failedToValidateHostname, .serverHostnameImpossibleToMatch, .cannotUseIPAddressInSNI, .invalidSNIHostname:
            self = .otherHost
        default: self = .unknown
        }
    }

    /// - Returns: `nil` for an error that is not about TLS.
    package init?(of error: any Error) {
        switch error {
        case let error as NIOSSLExtraError: self.init(error)
        case NIOSSLError.handshakeFailed(let cause): self.init("\(cause)")
        case NIOSSLError.uncleanShutdown: return nil
        case is NIOSSLError, is BoringSSLError: self.init("\(error)")
        default: return nil
        }
    }

    /// The reason as a clause that needs no sentence before it.
    package var clause: String {
        switch self {
        case .untrustedCertificate, .otherHost: "its certificate is not accepted: \(reason)"
        default: reason
        }
    }

    /// A failure of a certificate is final. Any other failure counts as a lost connection, because it may pass.
    var kind: TransportError.Kind {
        switch self {
        case .untrustedCertificate, .otherHost, .refusedCertificate: .tlsRefused
        case .notTLS, .noCommonVersion, .handshakeRefused, .closedInHandshake, .brokenOff, .unknown: .connectionLost
        }
    }

    var reason: String {
        switch self {
        case .untrustedCertificate: "it has expired, or nobody vouches for it who is trusted here"
        case .otherHost: "it is for another host"
        case .refusedCertificate: "the server wants a certificate of Haul, or refuses it"
        case .notTLS: "the server does not speak TLS at this port"
        case .noCommonVersion: "the server has no version of TLS, or no cipher, in common with Haul"
        case .handshakeRefused: "the server refused the TLS handshake"
        case .closedInHandshake: "the server closed the connection in the TLS handshake"
        case .brokenOff: "the server broke TLS off"
        case .unknown: "TLS failed"
        }
    }
}

extension TransportError {
    init(_ failure: TLSFailure) { self.init(failure.kind, failure.reason) }

    /// Returns a text for an error that Haul has no message for: the error's own text, or the name of its type if the
    /// text is long or may contain the path of a source file.
    static func plain(_ error: any Error) -> String {
        let text = "\(error)"
        return text.contains("/") || text.utf8.count > 200 ? "\(type(of: error))" : text
    }
}
