/// Marshals values, little-endian. Refuses values for which a bus would close the connection.
struct DBusWriter {
    private(set) var bytes: [UInt8] = []

    mutating func write(_ value: DBusValue) throws(DBusError) {
        align(to: value.type.alignment)
        switch value {
        case .byte(let number): bytes.append(number)
        case .boolean(let isTrue): write(number: UInt32(isTrue ? 1 : 0))
        case .int16(let number): write(number: number)
        case .uint16(let number): write(number: number)
        case .int32(let number): write(number: number)
        case .uint32(let number), .descriptor(let number): write(number: number)
        case .int64(let number): write(number: number)
        case .uint64(let number): write(number: number)
        case .double(let number): write(number: number.bitPattern)
        case .string(let text): try write(text: text)
        case .objectPath(let path):
            guard DBusValue.isObjectPath(path) else { throw .malformed }
            try write(text: path)
        case .signature(let text):
            _ = try DBusType.read(text.utf8)
            write(signature: text)
        case .variant(let inner):
            let code = inner.type.code
            guard try DBusType.read(code.utf8) == [inner.type] else { throw .malformed }
            write(signature: code)
            try write(inner)
        case .array(let element, let values): try write(array: values, of: element)
        case .structure(let members):
            for member in members { try write(member) }
        case .entry(let key, let value):
            try write(key)
            try write(value)
        }
    }

    mutating func align(to alignment: Int) {
        while bytes.count % alignment != 0 { bytes.append(0) }
    }

    mutating func append(_ more: [UInt8]) { bytes += more }

    private mutating func write(array values: [DBusValue], of element: DBusType) throws(DBusError) {
        guard values.allSatisfy({ $0.type == element }) else { throw .malformed }
        let place = bytes.count
        write(number: UInt32(0))
        align(to: element.alignment)
        let start = bytes.count
        for value in values { try write(value) }
        guard let count = UInt32(exactly: bytes.count - start) else { throw .malformed }
        withUnsafeBytes(of: count.littleEndian) { bytes.replaceSubrange(place..<place + 4, with: $0) }
    }

    private mutating func write(text: String) throws(DBusError) {
        guard !text.utf8.contains(0), let count = UInt32(exactly: text.utf8.count) else { throw .malformed }
        write(number: count)
        bytes += Array(text.utf8)
        bytes.append(0)
    }

    /// Writes a signature that the caller has validated, so that its length fits into a byte.
    private mutating func write(signature: String) {
        bytes.append(UInt8(truncatingIfNeeded: signature.utf8.count))
        bytes += Array(signature.utf8)
        bytes.append(0)
    }

    private mutating func write<Number: FixedWidthInteger & BitwiseCopyable>(number: Number) {
        withUnsafeBytes(of: number.littleEndian) { bytes += Array($0) }
    }
}
