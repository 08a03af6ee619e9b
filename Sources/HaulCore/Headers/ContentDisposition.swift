internal import Foundation

/// Reads the file name that a server suggests in `Content-Disposition` (RFC 6266, with the encoding of RFC 8187).
enum ContentDisposition {
    /// - Returns: the last path segment of the suggested name, or `nil`. ``FileName`` has to make the segment safe.
    ///   `filename*` takes precedence over `filename`; the disposition type is ignored.
    static func fileName(_ text: String) -> String? {
        let parameters = parameters(of: Array(text.utf8))
        for parameter in parameters where parameter.name == "filename*" {
            if let name = extendedValue(parameter.value).flatMap(lastSegment) { return name }
        }
        for parameter in parameters where parameter.name == "filename" {
            let value = decodingEncodedWords(parameter.value)
            if let name = lastSegment(FieldText.decoded(value)) { return name }
        }
        return nil
    }

    private static func lastSegment(_ name: String) -> String? {
        let segment = FileName.lastSegment(of: name)
        return segment.isEmpty ? nil : String(segment)
    }
}

// MARK: - Parameters

extension ContentDisposition {
    private typealias Parameter = (name: String, value: [UInt8])

    private static let semicolon = UInt8(ascii: ";")
    private static let quote = UInt8(ascii: "\"")

    /// Returns every `name=value` between semicolons, with names in lower case. An unquoted value reaches to the next
    /// semicolon, because servers omit the quotes even around names with spaces.
    private static func parameters(of text: [UInt8]) -> [Parameter] {
        var found: [Parameter] = []
        var rest = text[...]
        while !rest.isEmpty {
            let name = rest.prefix { $0 != semicolon && $0 != UInt8(ascii: "=") }
            rest = rest.dropFirst(name.count)
            if rest.first == UInt8(ascii: "=") {
                rest = rest.dropFirst().drop(while: isBlank)
                let value = rest.first == quote ? quotedString(&rest) : nil
                let token = rest.prefix { $0 != semicolon }
                rest = rest.dropFirst(token.count)
                found.append((String(decoding: trimmed(name), as: UTF8.self).lowercased(), value ?? trimmed(token)))
            }
            rest = rest.dropFirst()
        }
        return found
    }

    /// Takes a quoted string off the front of `rest`. An unclosed string reaches to the end.
    private static func quotedString(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
        var value: [UInt8] = []
        rest = rest.dropFirst()
        while let byte = rest.popFirst(), byte != quote {
            if byte == UInt8(ascii: "\\") {
                if let escaped = rest.popFirst() { value.append(escaped) }
            } else {
                value.append(byte)
            }
        }
        return value
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        let front = bytes.drop(while: isBlank)
        guard let last = front.lastIndex(where: { !isBlank($0) }) else { return [] }
        return Array(front[...last])
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}

// MARK: - Encodings

extension ContentDisposition {
    /// Decodes `UTF-8'en'na%C3%AFve.txt` (RFC 8187 §3.2). Raw bytes above 0x7F are invalid there.
    private static func extendedValue(_ value: [UInt8]) -> String? {
        let parts = value.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, value.allSatisfy({ $0 < 0x80 }) else { return nil }
        return FileName.percentDecoded(parts[2]).flatMap { text($0, charset: parts[0]) }
    }

    /// Decodes every `=?utf-8?B?…?=` in `value` (RFC 2047). RFC 6266 has no such words, but servers that build the
    /// field like a mail header send them. Undecodable words stay.
    private static func decodingEncodedWords(_ value: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var rest = value[...]
        var endOfLastWord: Int?
        while let byte = rest.first {
            guard let word = encodedWord(rest) else {
                result.append(byte)
                rest = rest.dropFirst()
                continue
            }
            // Blanks between two encoded words are only separators (RFC 2047 §6.2).
            if let end = endOfLastWord, result[end...].allSatisfy(isBlank) { result.removeSubrange(end...) }
            result += Array(word.text.utf8)
            rest = word.rest
            endOfLastWord = result.count
        }
        return result
    }

    private static func encodedWord(_ bytes: ArraySlice<UInt8>) -> (text: String, rest: ArraySlice<UInt8>)? {
        guard bytes.starts(with: "=?".utf8) else { return nil }
        let question = UInt8(ascii: "?")
        let parts = bytes.dropFirst(2).split(separator: question, maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, parts[3].first == UInt8(ascii: "="), parts[1].count == 1 else { return nil }
        let decoded: [UInt8]?
        switch parts[1].first {
        case UInt8(ascii: "B"), UInt8(ascii: "b"):
            decoded = Data(base64Encoded: Data(parts[2])).map { Array($0) }
        case UInt8(ascii: "Q"), UInt8(ascii: "q"):
            let spaced = parts[2].map { $0 == UInt8(ascii: "_") ? 0x20 : $0 }
            decoded = FileName.percentDecoded(spaced[...], marker: UInt8(ascii: "="))
        default: decoded = nil
        }
        let charset = parts[0].prefix { $0 != UInt8(ascii: "*") }
        guard let text = decoded.flatMap({ text($0, charset: charset) }) else { return nil }
        return (text, parts[3].dropFirst())
    }

    private static func text(_ bytes: [UInt8], charset: ArraySlice<UInt8>) -> String? {
        Charset(label: String(decoding: charset, as: UTF8.self))?.text(bytes)
    }
}
