/// Reads marshalled values. Refuses everything that deviates from the specification, and reads only within the given
/// bytes.
struct DBusReader {
    private let bytes: [UInt8]
    private let isLittleEndian: Bool
    /// Index after the last readable byte.
    private var end: Int
    private(set) var position = 0
    /// Limit of nested containers, including variants.
    private static let mostDepth = 64

    init(_ bytes: [UInt8], isLittleEndian: Bool) {
        self.bytes = bytes
        self.isLittleEndian = isLittleEndian
        end = bytes.count
    }

    var isAtEnd: Bool { position == end }

    mutating func values(_ types: [DBusType]) throws(DBusError) -> [DBusValue] {
        var values: [DBusValue] = []
        for type in types { values.append(try value(type)) }
        return values
    }

    mutating func value(_ type: DBusType, depth: Int = 0) throws(DBusError) -> DBusValue {
        guard depth <= Self.mostDepth else { throw .malformed }
        try align(to: type.alignment)
        switch type {
        case .byte: return .byte(try number())
        case .boolean:
            let value: UInt32 = try number()
            guard value <= 1 else { throw .malformed }
            return .boolean(value == 1)
        case .int16: return .int16(try number())
        case .uint16: return .uint16(try number())
        case .int32: return .int32(try number())
        case .uint32: return .uint32(try number())
        case .int64: return .int64(try number())
        case .uint64: return .uint64(try number())
        case .double: return .double(Double(bitPattern: try number()))
        case .descriptor: return .descriptor(try number())
        case .string: return .string(try text(count: try length()))
        case .objectPath:
            let path = try text(count: try length())
            guard DBusValue.isObjectPath(path) else { throw .malformed }
            return .objectPath(path)
        case .signature:
            let signature = try signature()
            _ = try DBusType.read(signature.utf8)
            return .signature(signature)
        case .variant:
            let types = try DBusType.read(try signature().utf8)
            guard types.count == 1 else { throw .malformed }
            return .variant(try value(types[0], depth: depth + 1))
        case .array(let element): return .array(of: element, try elements(element, depth: depth))
        case .structure(let members):
            var values: [DBusValue] = []
            for member in members { values.append(try value(member, depth: depth + 1)) }
            return .structure(values)
        case .entry(let key, let value):
            let first = try self.value(key, depth: depth + 1)
            return .entry(first, try self.value(value, depth: depth + 1))
        }
    }

    /// Reads the elements of an array. The loop ends because every type takes at least one byte.
    private mutating func elements(_ type: DBusType, depth: Int) throws(DBusError) -> [DBusValue] {
        let count = try length()
        // The length does not include the padding before the first element.
        try align(to: type.alignment)
        guard count <= end - position else { throw .malformed }
        let outer = end
        end = position + count
        defer { end = outer }
        var values: [DBusValue] = []
        while position < end { values.append(try value(type, depth: depth + 1)) }
        return values
    }

    /// Skips padding, which must be zero.
    mutating func align(to alignment: Int) throws(DBusError) {
        while position % alignment != 0 {
            guard position < end, bytes[position] == 0 else { throw .malformed }
            position += 1
        }
    }

    private mutating func length() throws(DBusError) -> Int {
        try align(to: 4)
        let count: UInt32 = try number()
        guard let count = Int(exactly: count) else { throw .malformed }
        return count
    }

    private mutating func signature() throws(DBusError) -> String {
        let count: UInt8 = try number()
        return try text(count: Int(count))
    }

    /// Reads UTF-8 that ends with a NUL and has no other NUL.
    private mutating func text(count: Int) throws(DBusError) -> String {
        guard count < end - position, bytes[position + count] == 0 else { throw .malformed }
        let part = bytes[position..<position + count]
        guard !part.contains(0), let text = String(validating: part, as: UTF8.self) else { throw .malformed }
        position += count + 1
        return text
    }

    /// Reads a number. The caller has aligned the position.
    private mutating func number<Number: FixedWidthInteger & BitwiseCopyable>() throws(DBusError) -> Number {
        let size = MemoryLayout<Number>.size
        guard size <= end - position else { throw .malformed }
        let raw = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: position, as: Number.self) }
        position += size
        return isLittleEndian ? Number(littleEndian: raw) : Number(bigEndian: raw)
    }
}
