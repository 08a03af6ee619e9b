/// A value of the D-Bus type system. ``DBusType`` describes its type.
enum DBusValue: Sendable, Hashable {
    case byte(UInt8), boolean(Bool), int16(Int16), uint16(UInt16), int32(Int32), uint32(UInt32)
    case int64(Int64), uint64(UInt64), double(Double)
    case string(String), objectPath(String), signature(String)
    /// Index of a file descriptor sent with the message. No message brings a descriptor, because the connection does
    /// not negotiate descriptors.
    case descriptor(UInt32)
    indirect case variant(DBusValue)
    case array(of: DBusType, [DBusValue])
    case structure([DBusValue])
    indirect case entry(DBusValue, DBusValue)

    var type: DBusType {
        switch self {
        case .byte: .byte
        case .boolean: .boolean
        case .int16: .int16
        case .uint16: .uint16
        case .int32: .int32
        case .uint32: .uint32
        case .int64: .int64
        case .uint64: .uint64
        case .double: .double
        case .string: .string
        case .objectPath: .objectPath
        case .signature: .signature
        case .descriptor: .descriptor
        case .variant: .variant
        case .array(let element, _): .array(element)
        case .structure(let members): .structure(members.map(\.type))
        case .entry(let key, let value): .entry(key.type, value.type)
        }
    }

    /// Whether `text` is `/`, or slashes each followed by letters, digits or underscores.
    static func isObjectPath(_ text: String) -> Bool {
        if text == "/" { return true }
        guard text.utf8.first == UInt8(ascii: "/") else { return false }
        return text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy {
            !$0.isEmpty && $0.allSatisfy(isWordByte)
        }
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
