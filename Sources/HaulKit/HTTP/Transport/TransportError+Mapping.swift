internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

extension TransportError {
    /// Converts errors of AsyncHTTPClient, SwiftNIO and NIOSSL. An unknown error counts as a broken connection, which
    /// is retried.
    init(_ error: any Error) {
        switch error {
        case let error as TransportError: self = error
        case let error as HTTPClientError: self.init(client: error)
        case let error as NIOConnectionError: self.init(connection: error)
        case is SocketAddressError: self.init(.nameNotResolved)
        case let error as IOError: self.init(errno: error.errnoCode)
        case let error as ChannelError:
            if case .connectTimeout = error {
                self.init(.connectTimeout)
            } else {
                self.init(.connectionLost, Self.plain(error))
            }
        case HTTPParserError.invalidEOFState: self.init(.connectionLost, "the answer ended early")
        case let error as HTTPParserError: self.init(.malformedResponse, Self.plain(error))
        case NIOSSLError.uncleanShutdown: self.init(.connectionLost, "closed without a TLS goodbye")
        case is KeptConnectionClosed: self.init(.connectionLost)
        case let error as BrokenOffAnswer: self.init(error.cause)
        case is CancellationError: self.init(.connectionLost, "cancelled")
        default: self = TLSFailure(of: error).map { TransportError($0) } ?? .init(.connectionLost, Self.plain(error))
        }
    }

    /// Converts an error of a connection from a local address.
    init(_ error: any Error, from source: String?) {
        guard let source, Self.errnos(error).contains(EADDRNOTAVAIL) else {
            self.init(error)
            return
        }
        self = NetworkBinding.isNotHere(source)
    }

    /// Whether every attempt failed because the local address and the server's have different versions of IP.
    static func isOfOtherVersion(_ error: any Error) -> Bool {
        let errnos = errnos(error)
        return !errnos.isEmpty && errnos.allSatisfy { $0 == EINVAL || $0 == EAFNOSUPPORT }
    }

    /// Whether another address of the same host may succeed.
    var isOfAddress: Bool { kind == .connectionRefused || kind == .connectionFailed }

    /// Whether an attempt to connect to an address was refused, failed or timed out. `false` if there was no attempt,
    /// for example because the name was not resolved.
    var isOfConnecting: Bool { isOfAddress || kind == .connectTimeout }

    /// Chooses which of the failures of a host's addresses is reported: a lack of descriptors first, then a refusal,
    /// then the last failure.
    static func told(of failures: [TransportError]) -> TransportError {
        failures.first { $0.kind == .tooManyOpenFiles } ?? failures.first { $0.kind == .connectionRefused }
            ?? failures.last ?? TransportError(.connectionFailed)
    }

    /// Returns the errno of each attempt to connect; 0 for an attempt that the system did not refuse.
    private static func errnos(_ error: any Error) -> [Int32] {
        guard let error = error as? NIOConnectionError else { return (error as? IOError).map { [$0.errnoCode] } ?? [] }
        return error.connectionErrors.map { ($0.error as? IOError)?.errnoCode ?? 0 }
    }

    private init(client error: HTTPClientError) {
        switch error {
        case .connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout, .httpProxyHandshakeTimeout,
            .socksHandshakeTimeout:
            self.init(.connectTimeout)
        case .readTimeout, .deadlineExceeded: self.init(.stalled)
        case .invalidURL, .emptyHost, .emptyScheme: self.init(.invalidURL)
        case .proxyAuthenticationRequired: self.init(.proxyRefused, "it wants a user name and password")
        case .invalidProxyResponse: self.init(.proxyRefused, "it refused to")
        case .remoteConnectionClosed, .uncleanShutdown, .cancelled: self.init(.connectionLost)
        default: self.init(.connectionLost, error.shortDescription)
        }
    }

    private init(connection error: NIOConnectionError) {
        let failures = error.connectionErrors.map { TransportError($0.error) }
        if failures.isEmpty, error.dnsAError != nil || error.dnsAAAAError != nil {
            // Checks for free descriptors, because the system's resolver does not report that it lacked a socket.
            self.init(DescriptorLimit.isExhausted ? .tooManyOpenFiles : .nameNotResolved)
        } else {
            self = Self.told(of: failures)
        }
    }

    private init(errno code: Int32) {
        switch code {
        case ECONNREFUSED: self.init(.connectionRefused)
        case ETIMEDOUT: self.init(.connectTimeout)
        case EMFILE, ENFILE: self.init(.tooManyOpenFiles)
        case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL, EACCES, EPERM:
            self.init(.connectionFailed, SystemCalls.describe(errno: code))
        default: self.init(.connectionLost, SystemCalls.describe(errno: code))
        }
    }
}
