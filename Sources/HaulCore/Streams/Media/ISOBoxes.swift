/// Four-character code of a box, a brand or a handler (ISO/IEC 14496-12 §4.2).
package struct BoxType: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package init(stringLiteral value: StaticString) {
        rawValue = value.withUTF8Buffer { $0.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }
    }

    /// The four characters, with `?` for bytes that are not printable ASCII.
    package var description: String {
        let bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: rawValue >> $0) }
        return String(decoding: bytes.map { (0x20..<0x7f).contains($0) ? $0 : 0x3f }, as: UTF8.self)
    }
}

/// Header of a box: its type, and the lengths of header and box.
package struct BoxHeader: Sendable, Hashable {
    /// Length in bytes of a header with a 64-bit size. A `uuid` header has 16 bytes more, which no caller needs.
    package static let maximumLength = 16

    package let type: BoxType
    /// Bytes before the content.
    package let headerLength: Int64
    /// Length of the whole box. At least `headerLength`, at most the bytes that were available.
    package let length: Int64

    /// Reads the header at the start of `bytes`.
    ///
    /// - Parameters:
    ///   - bytes: The first bytes of the box: 16, or fewer at the end of the file.
    ///   - available: Bytes from the start of the box to the end of its container. A box with the size 0 extends to
    ///     that end.
    ///   - position: Position of the box in its file, for the error.
    package init(_ bytes: ArraySlice<UInt8>, available: Int64, position: Int64) throws(MediaError) {
        var reader = BoxReader(bytes, of: "????")
        guard bytes.count >= 8, available >= 8 else { throw .notABox(position: position) }
        let short = try reader.uint32()
        type = BoxType(rawValue: try reader.uint32())
        guard type.isPlausible else { throw .notABox(position: position) }
        var header: Int64 = 8
        switch short {
        case 0: length = available
        case 1:
            guard bytes.count >= 16 else { throw .truncated(type) }
            guard let long = Int64(exactly: try reader.uint64()) else { throw .truncated(type) }
            length = long
            header = 16
        default: length = Int64(short)
        }
        if type == "uuid" { header += 16 }
        guard length <= available else { throw .truncated(type) }
        guard length >= header else { throw .invalid(type, "its size is smaller than its header") }
        headerLength = header
    }
}

extension BoxHeader {
    /// Refuses bytes that do not begin with a box of a file or a segment, such as a web page or a key.
    static func checkStart(_ bytes: ArraySlice<UInt8>) throws(MediaError) {
        let types: Set<BoxType> = [
            "ftyp", "styp", "moov", "moof", "mdat", "sidx", "ssix", "emsg", "prft", "free", "skip", "wide", "uuid",
        ]
        let type = bytes.dropFirst(4).prefix(4).reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
        guard bytes.count >= 8, types.contains(BoxType(rawValue: type)) else { throw .notABox(position: 0) }
    }
}

extension BoxType {
    /// Whether each byte is a printable ASCII character or `©`. Encrypted bytes rarely are.
    var isPlausible: Bool {
        [24, 16, 8, 0].allSatisfy { shift in
            let byte = UInt8(truncatingIfNeeded: rawValue >> shift)
            return (0x20..<0x7f).contains(byte) || byte == 0xa9
        }
    }
}

/// A box whose bytes are in memory.
package struct Box: Sendable, Hashable {
    package let type: BoxType
    /// Header and content.
    package let bytes: ArraySlice<UInt8>
    package let content: ArraySlice<UInt8>

    /// Reads the boxes that fill `bytes`.
    ///
    /// - Parameter limit: Maximum number of boxes. More boxes are an error.
    package static func all(in bytes: ArraySlice<UInt8>, limit: Int = 4096) throws(MediaError) -> [Box] {
        var boxes: [Box] = []
        var rest = bytes
        while !rest.isEmpty {
            let position = Int64(rest.startIndex - bytes.startIndex)
            // Four zero bytes end the list in `udta` of QuickTime.
            if rest.count == 4, rest.allSatisfy({ $0 == 0 }) { break }
            let header = try BoxHeader(
                rest.prefix(BoxHeader.maximumLength),
                available: Int64(rest.count),
                position: position
            )
            guard boxes.count < limit else { throw .tooMany(header.type) }
            let end = rest.startIndex + Int(header.length)
            boxes.append(
                Box(
                    type: header.type,
                    bytes: rest[..<end],
                    content: rest[(rest.startIndex + Int(header.headerLength))..<end]
                )
            )
            rest = rest[end...]
        }
        return boxes
    }
}

extension [Box] {
    func first(_ type: BoxType) -> Box? { first { $0.type == type } }

    func required(_ type: BoxType, in parent: String) throws(MediaError) -> Box {
        guard let box = first(type) else { throw .missing(type, in: parent) }
        return box
    }
}

/// Reads big-endian fields of a box one after the other. Throws ``MediaError/truncated(_:)`` at the end of the bytes.
package struct BoxReader: Sendable {
    private let type: BoxType
    /// The bytes that are not read yet.
    package private(set) var rest: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>, of type: BoxType) {
        rest = bytes
        self.type = type
    }

    init(_ box: Box) { self.init(box.content, of: box.type) }

    private mutating func integer<Value: FixedWidthInteger>(_: Value.Type) throws(MediaError) -> Value {
        let length = Value.bitWidth / 8
        guard rest.count >= length else { throw .truncated(type) }
        var value: Value = 0
        for byte in rest.prefix(length) { value = value << 8 | Value(byte) }
        rest = rest.dropFirst(length)
        return value
    }

    package mutating func uint16() throws(MediaError) -> UInt16 { try integer(UInt16.self) }
    package mutating func uint32() throws(MediaError) -> UInt32 { try integer(UInt32.self) }
    package mutating func uint64() throws(MediaError) -> UInt64 { try integer(UInt64.self) }

    package mutating func skip(_ count: Int) throws(MediaError) {
        guard rest.count >= count else { throw .truncated(type) }
        rest = rest.dropFirst(count)
    }

    /// Reads version and flags of a full box.
    package mutating func versionAndFlags() throws(MediaError) -> (version: UInt8, flags: UInt32) {
        let word = try uint32()
        return (UInt8(word >> 24), word & 0xff_ffff)
    }
}
