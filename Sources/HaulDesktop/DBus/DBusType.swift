/// A type of the D-Bus specification's type system.
indirect enum DBusType: Sendable, Hashable {
    case byte, boolean, int16, uint16, int32, uint32, int64, uint64, double, string, objectPath, signature, descriptor
    case variant
    case array(DBusType)
    case structure([DBusType])
    /// A dictionary entry; occurs only as the element of an array.
    case entry(DBusType, DBusType)

    private static let basic: [UInt8: DBusType] = [
        UInt8(ascii: "y"): .byte, UInt8(ascii: "b"): .boolean, UInt8(ascii: "n"): .int16, UInt8(ascii: "q"): .uint16,
        UInt8(ascii: "i"): .int32, UInt8(ascii: "u"): .uint32, UInt8(ascii: "x"): .int64, UInt8(ascii: "t"): .uint64,
        UInt8(ascii: "d"): .double, UInt8(ascii: "s"): .string, UInt8(ascii: "o"): .objectPath,
        UInt8(ascii: "g"): .signature, UInt8(ascii: "h"): .descriptor,
    ]
    /// Limit of nested arrays, and of nested structures.
    private static let mostDepth = 32
    static let mostSignatureBytes = 255

    /// Reads a signature: complete types, one after the other.
    static func read(_ signature: some Collection<UInt8>) throws(DBusError) -> [DBusType] {
        guard signature.count <= mostSignatureBytes else { throw .malformed }
        var rest = Array(signature)[...]
        var types: [DBusType] = []
        while !rest.isEmpty { types.append(try one(&rest, arrays: 0, structures: 0)) }
        return types
    }

    private static func one(_ rest: inout ArraySlice<UInt8>, arrays: Int, structures: Int) throws(DBusError)
        -> DBusType
    {
        guard arrays <= mostDepth, structures <= mostDepth, let code = rest.popFirst() else { throw .malformed }
        if let type = basic[code] { return type }
        switch code {
        case UInt8(ascii: "v"): return .variant
        case UInt8(ascii: "a"):
            guard arrays < mostDepth else { throw .malformed }
            guard rest.first == UInt8(ascii: "{") else {
                return .array(try one(&rest, arrays: arrays + 1, structures: structures))
            }
            rest.removeFirst()
            guard let key = rest.popFirst().flatMap({ basic[$0] }) else { throw .malformed }
            let value = try one(&rest, arrays: arrays + 1, structures: structures + 1)
            guard rest.popFirst() == UInt8(ascii: "}") else { throw .malformed }
            return .array(.entry(key, value))
        case UInt8(ascii: "("):
            var members: [DBusType] = []
            while rest.first != UInt8(ascii: ")") {
                members.append(try one(&rest, arrays: arrays, structures: structures + 1))
            }
            rest.removeFirst()
            guard !members.isEmpty else { throw .malformed }
            return .structure(members)
        default: throw .malformed
        }
    }

    var code: String {
        switch self {
        case .variant: "v"
        case .array(let element): "a" + element.code
        case .structure(let members): "(" + members.map(\.code).joined() + ")"
        case .entry(let key, let value): "{" + key.code + value.code + "}"
        case .byte: "y"
        case .boolean: "b"
        case .int16: "n"
        case .uint16: "q"
        case .int32: "i"
        case .uint32: "u"
        case .int64: "x"
        case .uint64: "t"
        case .double: "d"
        case .string: "s"
        case .objectPath: "o"
        case .signature: "g"
        case .descriptor: "h"
        }
    }

    /// Each value begins at a multiple of this number of bytes from the start of the message.
    var alignment: Int {
        switch self {
        case .byte, .signature, .variant: 1
        case .int16, .uint16: 2
        case .boolean, .int32, .uint32, .string, .objectPath, .descriptor, .array: 4
        case .int64, .uint64, .double, .structure, .entry: 8
        }
    }
}
