import AsyncHTTPClient
import NIOCore
import NIOSSL
import Testing

@testable import HaulCore
@testable import HaulKit

/// Failures of TLS get messages of Haul, without the source locations of the TLS library.
@Suite struct TLSFailureTests {
    private static let place =
        " at /builder/checkouts/swift-nio-ssl/Sources/CNIOBoringSSL/ssl/handshake.cc:393"

    private static let table: [(String, TLSFailure, TransportError.Kind)] = [
        ("CERTIFICATE_VERIFY_FAILED", .untrustedCertificate, .tlsRefused),
        ("TLSV1_CERTIFICATE_REQUIRED", .refusedCertificate, .tlsRefused),
        ("TLSV1_ALERT_UNKNOWN_CA", .refusedCertificate, .tlsRefused),
        ("WRONG_VERSION_NUMBER", .notTLS, .connectionLost), ("HTTP_REQUEST", .notTLS, .connectionLost),
        ("UNSUPPORTED_PROTOCOL", .noCommonVersion, .connectionLost),
        ("TLSV1_ALERT_PROTOCOL_VERSION", .noCommonVersion, .connectionLost),
        ("SSLV3_ALERT_HANDSHAKE_FAILURE", .handshakeRefused, .connectionLost),
        ("TLSV1_ALERT_INTERNAL_ERROR", .brokenOff, .connectionLost),
        ("DECRYPTION_FAILED_OR_BAD_RECORD_MAC", .unknown, .connectionLost),
    ]

    @Test(arguments: table)
    func hasAReasonOfItsOwn(_ name: String, _ failure: TLSFailure, _ kind: TransportError.Kind) {
        let text = "sslError([Error: 268435581 error:1000007d:SSL routines:OPENSSL_internal:\(name)\(Self.place)])"
        #expect(TLSFailure(text) == failure)
        #expect(TransportError(TLSFailure(text)).kind == kind)
    }

    @Test(arguments: TLSFailure.allCases) func namesNoFile(_ failure: TLSFailure) {
        #expect(!failure.reason.isEmpty && !failure.reason.contains("/"))
    }

    @Test func aConnectionThatClosesInTheHandshakeIsTriedAgain() {
        let error = TransportError(NIOSSLError.handshakeFailed(.sslError([.eofDuringHandshake])))
        #expect(error == TransportError(.closedInHandshake as TLSFailure))
        #expect(error.kind == .connectionLost)
    }

    @Test func aNameThatDoesNotMatchIsFinal() {
        #expect(TransportError(NIOSSLExtraError.failedToValidateHostname).kind == .tlsRefused)
    }

    private struct Odd: Error, CustomStringConvertible { let description: String }

    @Test func whatIsUnknownNamesNoFileEither() {
        let error = TransportError(Odd(description: "failed" + Self.place))
        #expect(error.kind == .connectionLost && !error.detail.contains("/"))
        #expect(TransportError(Odd(description: "odd")).detail == "odd")
    }
}
