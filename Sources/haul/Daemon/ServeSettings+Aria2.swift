import Foundation
import HaulAria2
import HaulKit
import HaulServer

extension ServeSettings {
    /// The values of aria2's settings before they are checked.
    struct Aria2Values: Sendable {
        var address = "off"
        var secret = ""
        var secretFile = ""
        var origins: [String] = []
        var notifiesAll = "false"
    }
}

extension ServeSettings.Aria2Values {
    /// Returns the settings of aria2's RPC, or `nil` if it is off.
    ///
    /// - Throws: ``Complaint`` if a value is wrong, or if the RPC would be open to other machines without a secret.
    func configuration(_ server: ServerConfiguration) throws -> Aria2ServerConfiguration? {
        var aria2 = Aria2ServerConfiguration()
        switch address {
        case "off": return nil
        case "on": break
        default:
            guard let listener = ServerConfiguration.Listener(address) else {
                throw Complaint(
                    "--aria2-rpc must be PORT, HOST:PORT, [IPv6]:PORT, 'on' or 'off', not \(address).",
                    .usage
                )
            }
            aria2.listener = listener
        }
        guard secret.isEmpty || secretFile.isEmpty else {
            throw Complaint("Name the secret of aria2's RPC or its file, not both.", .usage)
        }
        aria2.secret = secretFile.isEmpty ? (secret.isEmpty ? nil : secret) : try Self.read(secretFile)
        guard aria2.secret != nil || aria2.isLoopback else {
            throw Complaint(
                """
                aria2's RPC would listen at \(aria2.listener) without a secret, for everyone who reaches this machine. Set \
                --aria2-secret-file or HAUL_ARIA2_SECRET.
                """,
                .usage
            )
        }
        guard ["true", "false"].contains(notifiesAll) else {
            throw Complaint("aria2-notify-all must be true or false, not \(notifiesAll).", .usage)
        }
        aria2.allowedOrigins = Set(origins)
        aria2.notifiesUnauthenticated = notifiesAll == "true"
        aria2.allowedHosts = server.allowedHosts
        return aria2
    }

    private static func read(_ path: String) throws -> String {
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { try? handle.close() }  // Ignores the error, because nothing was written.
            let data = try handle.read(upToCount: 4096) ?? Data()
            let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            guard !text.isEmpty else { throw Complaint("\(path) has no secret.", .usage) }
            return text
        } catch let complaint as Complaint { throw complaint } catch {
            throw Complaint("The secret \(path) cannot be read: \(error.localizedDescription)", .usage)
        }
    }
}
