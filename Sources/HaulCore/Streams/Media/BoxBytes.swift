extension [UInt8] {
    /// Appends an integer in big-endian order.
    mutating func append<Value: FixedWidthInteger>(bigEndian value: Value) {
        for shift in stride(from: Value.bitWidth - 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    /// Overwrites bytes with an integer in big-endian order. Bytes beyond the end stay unwritten.
    mutating func write<Value: FixedWidthInteger>(bigEndian value: Value, at position: Int) {
        var at = position
        for shift in stride(from: Value.bitWidth - 8, through: 0, by: -8) {
            guard indices.contains(at) else { return }
            self[at] = UInt8(truncatingIfNeeded: value >> shift)
            at += 1
        }
    }

    /// Returns the bytes of a box: a header of 8 bytes with the length and the type, then the content.
    static func box(_ type: BoxType, _ content: some Collection<UInt8>) -> [UInt8] {
        var box: [UInt8] = []
        box.reserveCapacity(content.count + 8)
        box.append(bigEndian: UInt32(clamping: content.count + 8))
        box.append(bigEndian: type.rawValue)
        box += content
        return box
    }

    /// A box with version, flags and this content.
    static func fullBox(
        _ type: BoxType,
        version: UInt8 = 0,
        flags: UInt32 = 0,
        _ content: some Collection<UInt8>
    ) -> [UInt8] {
        var fields: [UInt8] = []
        fields.append(bigEndian: UInt32(version) << 24 | flags)
        return box(type, fields + content)
    }

    /// Header of an `mdat` box with `length` bytes of content: 8 bytes, or 16 beyond 4 GiB.
    static func mediaDataHeader(contentLength length: Int64) -> [UInt8] {
        var header: [UInt8] = []
        let type: BoxType = "mdat"
        if let size = UInt32(exactly: length.addingClamped(8)) {
            header.append(bigEndian: size)
            header.append(bigEndian: type.rawValue)
        } else {
            header.append(bigEndian: UInt32(1))
            header.append(bigEndian: type.rawValue)
            header.append(bigEndian: length.addingClamped(16))
        }
        return header
    }
}
