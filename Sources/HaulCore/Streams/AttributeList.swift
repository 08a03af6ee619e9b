/// The attributes of a tag (RFC 8216 §4.2). Commas and equals signs within quotes belong to the value.
///
/// Accepts each value with and without quotes, because many packagers confuse the two forms. Ignores a word without a
/// value.
struct AttributeList {
    private var values: [(name: ArraySlice<UInt8>, value: ArraySlice<UInt8>)] = []

    /// - Throws: ``StreamError`` for a quote without an end, text behind a quote, too many attributes, or a name that
    ///   comes twice.
    init(_ text: ArraySlice<UInt8>, line: Int, limits: StreamLimits) throws(StreamError) {
        var rest = text
        while !rest.isEmpty {
            let nameEnd = rest.firstIndex { $0 == Self.equals || $0 == Self.comma } ?? rest.endIndex
            let name = PlaylistLine.trimmed(rest[..<nameEnd])
            let hasValue = nameEnd < rest.endIndex && rest[nameEnd] == Self.equals
            rest = rest[nameEnd...].dropFirst()
            guard hasValue else { continue }
            let value = try Self.takeValue(from: &rest, line: line)
            guard values.count < limits.attributes else {
                throw .tooLarge("the tag in line \(line) has more than \(limits.attributes) attributes")
            }
            guard !values.contains(where: { $0.name == name }) else {
                throw .invalid("the attribute \(Self.text(name.prefix(80))) comes twice", line: line)
            }
            values.append((name, value))
        }
    }

    /// Returns the value of an attribute without quotes and with its variables not substituted; `nil` if the tag has no
    /// such attribute.
    subscript(_ name: String) -> ArraySlice<UInt8>? {
        values.first { $0.name.elementsEqual(name.utf8) }?.value
    }

    var names: [String] { values.map { Self.text($0.name) } }

    private static let equals = UInt8(ascii: "=")
    private static let comma = UInt8(ascii: ",")
    private static let quote = UInt8(ascii: "\"")

    private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    /// Removes a value and the comma behind it from the front of `rest`.
    private static func takeValue(
        from rest: inout ArraySlice<UInt8>,
        line: Int
    ) throws(StreamError) -> ArraySlice<UInt8> {
        let front = rest.drop { $0 == 0x20 || $0 == 0x09 }
        guard front.first == quote else {
            let end = rest.firstIndex(of: comma) ?? rest.endIndex
            defer { rest = rest[end...].dropFirst() }
            return PlaylistLine.trimmed(rest[..<end])
        }
        let inner = front.dropFirst()
        guard let end = inner.firstIndex(of: quote) else { throw .invalid("a quote has no end", line: line) }
        let behind = inner[end...].dropFirst()
        let next = behind.firstIndex(of: comma) ?? behind.endIndex
        guard PlaylistLine.trimmed(behind[..<next]).isEmpty else {
            throw .invalid("text follows a quoted value", line: line)
        }
        rest = behind[next...].dropFirst()
        return inner[..<end]
    }
}
