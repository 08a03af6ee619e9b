/// One challenge of a `WWW-Authenticate` field (RFC 9110 §11.6.1): a scheme and its parameters.
package struct AuthenticationChallenge: Sendable, Equatable {
    /// In lower case.
    package var scheme: String
    /// Values by lower-case name. The first of equal names counts.
    package var parameters: [String: String] = [:]

    /// Reads all challenges of an answer. A field may have several challenges. Commas separate the challenges as well
    /// as their parameters.
    package static func read(_ fields: [String]) -> [AuthenticationChallenge] { fields.flatMap(read) }

    private static func read(_ field: String) -> [AuthenticationChallenge] {
        var challenges: [AuthenticationChallenge] = []
        var rest = Array(field.utf8)[...]
        while !rest.isEmpty {
            rest = rest.drop { $0 == UInt8(ascii: ",") || isBlank($0) }
            let word = rest.prefix(while: isToken)
            guard !word.isEmpty else {
                // Skips unreadable text up to the next comma.
                rest = rest.drop { $0 != UInt8(ascii: ",") }
                continue
            }
            let behind = rest.dropFirst(word.count).drop(while: isBlank)
            let name = String(decoding: word, as: UTF8.self).lowercased()
            if behind.first == UInt8(ascii: "="), !challenges.isEmpty {
                var value = behind.dropFirst().drop(while: isBlank)
                let text = readValue(&value)
                rest = value
                let last = challenges.count - 1
                if challenges[last].parameters[name] == nil { challenges[last].parameters[name] = text }
            } else {
                challenges.append(AuthenticationChallenge(scheme: name))
                rest = rest.dropFirst(word.count)
                // Skips a token68, which `Negotiate` has in place of parameters.
                let token = rest.drop(while: isBlank).prefix { isToken($0) || $0 == UInt8(ascii: "/") }
                let after = rest.drop(while: isBlank).dropFirst(token.count)
                let end = after.drop { $0 == UInt8(ascii: "=") }
                if !token.isEmpty, end.isEmpty || end.first == UInt8(ascii: ","),
                    end.count < after.count || after.isEmpty
                {
                    rest = end
                }
            }
        }
        return challenges
    }

    private static func readValue(_ rest: inout ArraySlice<UInt8>) -> String {
        var bytes: [UInt8] = []
        if rest.first == UInt8(ascii: "\"") {
            rest = rest.dropFirst()
            while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
                bytes.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
            }
        } else {
            bytes = Array(rest.prefix { $0 != UInt8(ascii: ",") && !isBlank($0) })
            rest = rest.dropFirst(bytes.count)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x5E...0x7A, 0x7C, 0x7E, 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E: true
        default: false
        }
    }
}
