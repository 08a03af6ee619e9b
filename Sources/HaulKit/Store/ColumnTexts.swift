internal import Foundation
internal import GRDB

/// Encodes values as the text of their column, in the form that GRDB writes and reads. Uses no encoder for `FileStatus`
/// and for most values of `Resource`, because many rows have them and encoders are slow.
struct ColumnTexts {
    private let encoder = Self.makeEncoder()

    private static func makeEncoder() -> JSONEncoder {
        let encoder = ProgressRecord.databaseJSONEncoder(for: "")
        encoder.userInfo[.keepsSecrets] = true
        return encoder
    }

    func json(_ value: some Encodable) throws -> String {
        String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    func of(_ resource: Resource) throws -> String {
        // Most resources hold only a length, a validator, a content type and the URL of a redirect.
        var plain = Resource(total: resource.total, validator: resource.validator)
        (plain.contentType, plain.redirectedTo) = (resource.contentType, resource.redirectedTo)
        guard plain == resource else { return try json(resource) }
        let validator = resource.validator
        var text = ""
        text.reserveCapacity(256)
        text += "{"
        if let type = resource.contentType { text += "\"contentType\":" + Self.quoted(type) + "," }
        text += "\"hasUsableRanges\":true,\"isFramed\":true"
        if let place = resource.redirectedTo { text += ",\"redirectedTo\":" + Self.quoted(place.absoluteString) }
        if let total = resource.total { text += ",\"total\":" + String(total) }
        text += ",\"validator\":{"
        if let tag = validator.entityTag { text += "\"entityTag\":" + Self.quoted(tag.text) + "," }
        if let date = validator.lastModified { text += "\"lastModified\":" + Self.quoted(date) + "," }
        text += validator.lastModifiedIsStrong ? "\"lastModifiedIsStrong\":true}}" : "\"lastModifiedIsStrong\":false}}"
        return text
    }

    func of(_ status: FileStatus) -> String {
        // Appends strings, because interpolating numbers is slower.
        var text = ""
        text.reserveCapacity(192)
        text += "{\"allocated\":"
        text += String(status.allocated)
        text += ",\"born\":"
        text += String(status.born)
        text += ",\"device\":"
        text += String(status.device)
        text += ",\"inode\":"
        text += String(status.inode)
        text += ",\"kind\":\""
        text += status.kind.rawValue
        text += "\",\"modified\":"
        text += String(status.modified)
        text += ",\"size\":"
        text += String(status.size)
        text += "}"
        return text
    }

    /// Returns `text` as a JSON string (RFC 8259 §7).
    private static func quoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy {
            $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") && $0 != 0x7F
        }
        if isPlain { return "\"" + text + "\"" }
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\u{0}"..<"\u{20}", "\u{7F}":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
