/// Finds the targets of the links of an HTML page. Understands only the parts of HTML that index pages of servers use.
///
/// Comments and the contents of scripts and styles are skipped. Reads each byte a bounded number of times, whatever the
/// page has.
struct HTMLLinks {
    /// The `href` of each `<a>`, with its entities decoded, in order.
    private(set) var targets: [[UInt8]] = []
    /// The `href` of the first `<base>` that has one.
    private(set) var base: [UInt8]?

    /// Elements whose contents are text up to their end tag.
    private static let textElements = ["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"]
        .map { Array($0.utf8) }

    /// - Parameter limit: largest number of links.
    /// - Returns: `nil` for a page with more links.
    init?(_ page: [UInt8], limit: Int) {
        var rest = page[...]
        while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
            rest = rest[(start + 1)...]
            if rest.starts(with: "!--".utf8) {
                rest = Self.behind("-->", in: rest.dropFirst(3))
                continue
            }
            guard let first = rest.first, first.isASCIILetter else {
                // Skips an end tag or a declaration. Any other `<` is text.
                if let first = rest.first, "/!?".utf8.contains(first) { rest = Self.behind(">", in: rest) }
                continue
            }
            let name = rest.prefix { !$0.isHTMLBlank && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ">") }
            rest = rest[name.endIndex...]
            let tag = name.map(\.asciiLowercased)
            let target = Self.takeTarget(&rest)
            if tag == Array("a".utf8), let target {
                guard targets.count < limit else { return nil }
                targets.append(target)
            } else if tag == Array("base".utf8), base == nil {
                base = target
            } else if Self.textElements.contains(tag) {
                rest = Self.contents(of: tag, in: rest)
            }
        }
    }

    /// Removes the attributes of a tag and its closing bracket from the front of `rest`.
    ///
    /// - Returns: the value of the first `href`, with its entities decoded.
    private static func takeTarget(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        var target: [UInt8]?
        while true {
            rest = rest.drop { $0.isHTMLBlank || $0 == UInt8(ascii: "/") }
            guard let first = rest.first else { return target }
            if first == UInt8(ascii: ">") {
                rest = rest.dropFirst()
                return target
            }
            // An equals sign at the front belongs to the name.
            let name = rest.prefix(1) + rest.dropFirst().prefix { !$0.isHTMLBlank && !"/>=".utf8.contains($0) }
            rest = rest.dropFirst(name.count).drop(while: \.isHTMLBlank)
            var value: ArraySlice<UInt8> = []
            if rest.first == UInt8(ascii: "=") {
                rest = rest.dropFirst().drop(while: \.isHTMLBlank)
                if let quote = rest.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
                    value = rest.dropFirst().prefix { $0 != quote }
                    rest = rest[value.endIndex...].dropFirst()
                } else {
                    value = rest.prefix { !$0.isHTMLBlank && $0 != UInt8(ascii: ">") }
                    rest = rest[value.endIndex...]
                }
            }
            if target == nil, name.map(\.asciiLowercased) == Array("href".utf8) { target = HTMLText.decoded(value) }
        }
    }

    /// Returns the text behind the first `mark`; an empty text if there is none.
    private static func behind(_ mark: StaticString, in text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let mark = Array(mark.description.utf8)
        var rest = text
        while let start = rest.firstIndex(of: mark[0]) {
            rest = rest[start...]
            if rest.starts(with: mark) { return rest.dropFirst(mark.count) }
            rest = rest.dropFirst()
        }
        return []
    }

    /// Returns the text from the end tag of a text element on; an empty text if there is no end tag.
    private static func contents(of tag: [UInt8], in text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var rest = text
        while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
            rest = rest[start...]
            let after = rest.dropFirst(2)
            if rest.dropFirst().first == UInt8(ascii: "/"),
                after.prefix(tag.count).map(\.asciiLowercased) == tag,
                after.dropFirst(tag.count).first.map({ $0.isHTMLBlank || "/>".utf8.contains($0) }) ?? false
            {
                return rest
            }
            rest = rest.dropFirst()
        }
        return []
    }
}

/// Decodes the entities of HTML that index pages use.
enum HTMLText {
    static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
        guard text.contains(UInt8(ascii: "&")) else { return Array(text) }
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "&") else {
                bytes.append(byte)
                continue
            }
            let name = rest.prefix(longestEntity).prefix { $0 != UInt8(ascii: ";") }
            guard rest[name.endIndex...].first == UInt8(ascii: ";"), let scalar = scalar(name) else {
                bytes.append(byte)
                continue
            }
            bytes += Array(String(scalar).utf8)
            rest = rest[name.endIndex...].dropFirst()
        }
        return bytes
    }

    private static let longestEntity = 10

    /// - Returns: `nil` for an unknown name; U+FFFD for a number that is no character.
    private static func scalar(_ name: ArraySlice<UInt8>) -> Unicode.Scalar? {
        let text = String(decoding: name, as: UTF8.self)
        guard name.first == UInt8(ascii: "#") else { return named[text] }
        let isHexadecimal = name.dropFirst().first.map(\.asciiLowercased) == UInt8(ascii: "x")
        let digits = text.dropFirst(isHexadecimal ? 2 : 1)
        guard !digits.isEmpty, digits.utf8.allSatisfy({ $0.hexadecimalValue != nil }),
            let number = UInt32(digits, radix: isHexadecimal ? 16 : 10)
        else { return nil }
        return Unicode.Scalar(number).flatMap { $0 == "\0" ? nil : $0 } ?? "\u{FFFD}"
    }

    private static let named: [String: Unicode.Scalar] = [
        "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": "\u{A0}",
    ]
}

extension UInt8 {
    fileprivate var isHTMLBlank: Bool { self == 0x20 || (0x09...0x0D).contains(self) }
    fileprivate var isASCIILetter: Bool { (0x61...0x7A).contains(asciiLowercased) }
}
