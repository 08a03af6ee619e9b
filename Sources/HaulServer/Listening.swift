internal import Foundation
internal import NIOCore
internal import ServiceLifecycle

/// A server at one address. Its error names the address at which the server cannot listen.
struct Listening: Service {
    let server: any Service
    /// The address, as a user writes it.
    let address: String
    /// The command-line option that sets the address.
    let option: String
    let messages: ServingLog

    func run() async throws {
        do { try await server.run() } catch {
            // Drops the library's messages about the other listener, which ends because of this error.
            messages.end()
            if let failure = ServerError("The daemon", cannotListenAt: address, error, option: option) { throw failure }
            throw error
        }
    }
}

extension ServerError {
    /// Describes why a server cannot listen at an address, and what to do; `nil` for any other error.
    ///
    /// - Parameters:
    ///   - name: the server, as the subject of a sentence.
    ///   - address: the address, as a user writes it.
    ///   - option: the command-line option that sets the address.
    package init?(_ name: String, cannotListenAt address: String, _ error: any Error, option: String) {
        let reason: String
        switch error {
        case let error as IOError where error.errnoCode == EADDRINUSE:
            reason = "another program uses it. End that program, or name another address with \(option)."
        case let error as IOError where error.errnoCode == EADDRNOTAVAIL:
            reason = "this machine has no such address. Name one of its own with \(option)."
        case let error as IOError where error.errnoCode == EACCES:
            let remedy = address.contains("/") ? "Name a path in a folder of your own" : "Name a port above 1023"
            reason = "the system does not allow it. \(remedy) with \(option)."
        case let error as IOError: reason = "\(error). Name another address with \(option)."
        case is SocketAddressError.UnknownHost: reason = "the host name is unknown. Name another one with \(option)."
        case let error as SocketAddressError: reason = "\(error). Name another address with \(option)."
        default: return nil
        }
        self.init("\(name) cannot listen at \(address): \(reason)")
    }
}
