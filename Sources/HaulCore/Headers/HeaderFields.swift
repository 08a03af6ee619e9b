/// The header fields of a message, as field lines in the order in which they were sent (RFC 9110 §5.3).
///
/// Names match without case. Values stay as they were sent.
package struct HeaderFields: Sendable, Hashable {
    /// One field line.
    package struct Line: Sendable, Hashable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package private(set) var lines: [Line]

    package init(_ lines: [(String, String)] = []) {
        self.lines = lines.map { Line($0.0, $0.1) }
    }

    /// Adds a line behind the others.
    package mutating func add(name: String, value: String) { lines.append(Line(name, value)) }

    /// Removes all lines with this name.
    package mutating func remove(name: String) { lines.removeAll { Self.isSame($0.name, name) } }

    /// Removes all lines with this name and adds one behind the others.
    package mutating func replaceOrAdd(name: String, value: String) {
        remove(name: name)
        add(name: name, value: value)
    }

    /// The values of all lines with this name.
    package subscript(_ name: String) -> [String] {
        var values: [String] = []
        for line in lines where Self.isSame(line.name, name) { values.append(line.value) }
        return values
    }

    /// The value of the first line with this name.
    package func first(name: String) -> String? {
        lines.first { Self.isSame($0.name, name) }?.value
    }

    package func contains(name: String) -> Bool {
        lines.contains { Self.isSame($0.name, name) }
    }

    /// The elements of a field that is a comma-separated list (RFC 9110 §5.6.1), without empty ones. A comma within a
    /// quoted string separates too.
    package func elements(of name: String) -> [String] { self[name].flatMap(Self.elements) }

    /// The elements of one line of a list field, as ``elements(of:)`` returns them.
    package static func elements(_ value: String) -> [String] {
        value.utf8.split(separator: UInt8(ascii: ",")).compactMap { part in
            let front = part.drop(while: isBlank)
            guard let end = front.lastIndex(where: { !isBlank($0) }) else { return nil }
            return String(decoding: front[...end], as: UTF8.self)
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func isSame(_ one: String, _ other: String) -> Bool {
        one.utf8.count == other.utf8.count
            && one.utf8.elementsEqual(other.utf8) { $0.asciiLowercased == $1.asciiLowercased }
    }
}
