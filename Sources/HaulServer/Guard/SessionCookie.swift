internal import Crypto
internal import Foundation
internal import HTTPTypes

/// The cookie of a session. Its name depends on the state folder, so that two daemons on one host do not replace each
/// other's cookie: browsers send a cookie to all ports of a host.
package struct SessionCookie: Sendable {
    package let name: String

    package init(stateFolder: String) {
        let digest = SHA256.hash(data: Data(stateFolder.utf8)).prefix(4)
        name = "haul_" + digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    func value(of head: HTTPRequest) -> String? {
        for field in head.headerFields[values: .cookie] {
            for pair in field.split(separator: ";") {
                let parts = pair.split(separator: "=", maxSplits: 1)
                if parts.count == 2, parts[0].trimmingCharacters(in: .whitespaces) == name {
                    return parts[1].trimmingCharacters(in: .whitespaces)
                }
            }
        }
        return nil
    }

    func setting(_ secret: String, isSecure: Bool) -> String {
        "\(name)=\(secret); Path=/; HttpOnly; SameSite=Strict; Max-Age=\(Int(Sessions.lifetime))"
            + (isSecure ? "; Secure" : "")
    }

    var removing: String { "\(name)=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0" }
}
