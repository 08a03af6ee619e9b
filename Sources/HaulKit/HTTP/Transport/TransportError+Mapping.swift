internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

extension TransportError {
    /// Reads what the libraries below throw. Whatever is unknown counts as a broken connection, which is retried.
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
        case is CancellationError: self.init(.connectionLost, "cancelled")
        default: self = TLSFailure(of: error).map { TransportError($0) } ?? .init(.connectionLost, Self.plain(error))
        }
    }

    /// The same for a connection that was to come from a local address.
    init(_ error: any Error, from source: String?) {
        guard let source, Self.errnos(error).contains(EADDRNOTAVAIL) else {
            self.init(error)
            return
        }
        self = NetworkBinding.isNotHere(source)
    }

    /// Whether no attempt came further than to a local address of the other version of IP than the server's.
    static func isOfOtherVersion(_ error: any Error) -> Bool {
        let errnos = errnos(error)
        return !errnos.isEmpty && errnos.allSatisfy { $0 == EINVAL || $0 == EAFNOSUPPORT }
    }

    /// Whether another address of the same host may do better.
    var isOfAddress: Bool { kind == .connectionRefused || kind == .connectionFailed }

    /// Whether no connection was made.
    var isOfConnecting: Bool { isOfAddress || kind == .connectTimeout }

    /// What to say of failures at several addresses of a host: a refusal says more than the rest.
    static func told(of failures: [TransportError]) -> TransportError {
        failures.first { $0.kind == .tooManyOpenFiles } ?? failures.first { $0.kind == .connectionRefused }
            ?? failures.last ?? TransportError(.connectionFailed)
    }

    /// What the attempts of a connection failed with; 0 for one that the system did not refuse.
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
            // The system's resolver does not say that it lacked a socket.
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
