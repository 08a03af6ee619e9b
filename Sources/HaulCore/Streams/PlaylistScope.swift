internal import Foundation

/// The variables of a playlist and the URL that its references are relative to.
///
/// Variables are substituted once in URIs and attribute values (rfc8216bis §4.3, §4.4.2.3). A value may use variables
/// defined before it. Names of variables within a substituted value are not substituted. Lengths are bounded, because
/// values that each repeat the preceding value several times would grow exponentially.
struct PlaylistScope {
    let limits: StreamLimits
    private(set) var variables: [String: String] = [:]
    private let base: HTTPURL
    /// The URL of the playlist's folder; `nil` if references cannot simply be appended to that URL.
    private let folder: String?
    private let imports: [String: String]
    private var addressBytes = 0

    /// - Parameters:
    ///   - url: the playlist's URL after redirects.
    ///   - imports: the variables of the multivariant playlist.
    init(url: HTTPURL, imports: [String: String], limits: StreamLimits) {
        // Drops the credentials, because they belong to an origin. The engine adds them to the requests for that
        // origin.
        base = url.withoutUserInfo
        folder = HTTPURL(".", relativeTo: base).flatMap { $0.spelling == nil ? $0.url.absoluteString : nil }
        self.imports = imports
        self.limits = limits
    }

    /// Takes an `EXT-X-DEFINE` tag.
    mutating func define(_ attributes: AttributeList, line: Int) throws(StreamError) {
        let kinds = ["NAME", "IMPORT", "QUERYPARAM"].filter { attributes[$0] != nil }
        guard let kind = kinds.first, kinds.count == 1, let bytes = attributes[kind] else {
            throw .invalid("EXT-X-DEFINE needs exactly one of NAME, IMPORT and QUERYPARAM", line: line)
        }
        let name = String(decoding: bytes, as: UTF8.self)
        guard !bytes.isEmpty, bytes.allSatisfy(Self.isNameByte) else {
            throw .invalid("EXT-X-DEFINE has an impossible name", line: line)
        }
        guard variables[name] == nil else {
            throw .invalid("EXT-X-DEFINE defines \(Self.shown(name)) a second time", line: line)
        }
        guard variables.count < limits.variables else {
            throw .tooLarge("it defines more than \(limits.variables) variables")
        }
        variables[name] = try value(kind, name, attributes, line)
    }

    private mutating func value(
        _ kind: String,
        _ name: String,
        _ attributes: AttributeList,
        _ line: Int
    ) throws(StreamError) -> String {
        let found: String?
        switch kind {
        case "NAME":
            guard let value = attributes["VALUE"] else {
                throw .invalid("EXT-X-DEFINE gives \(Self.shown(name)) no value", line: line)
            }
            found = try text(value, line: line)
        case "IMPORT": found = imports[name]
        default: found = queryParameter(name)
        }
        guard let found else {
            let origin = kind == "IMPORT" ? "the multivariant playlist does not define" : "the URL has no parameter"
            throw .invalid("EXT-X-DEFINE wants a value that \(origin): \(Self.shown(name))", line: line)
        }
        return found
    }

    /// Returns the decoded value of a parameter in the query of the playlist's URL; `nil` if it is missing or empty.
    private func queryParameter(_ name: String) -> String? {
        let target = Array(base.target.utf8)
        guard let question = target.firstIndex(of: UInt8(ascii: "?")) else { return nil }
        for pair in target[(question + 1)...].split(separator: UInt8(ascii: "&")) {
            guard let equals = pair.firstIndex(of: UInt8(ascii: "=")),
                let key = FileName.percentDecoded(pair[..<equals]), key.elementsEqual(name.utf8)
            else { continue }
            return FileName.percentDecoded(pair[(equals + 1)...])
                .flatMap { String(validating: $0, as: UTF8.self) }
                .flatMap { $0.isEmpty ? nil : $0 }
        }
        return nil
    }

    /// Substitutes the variables of a text.
    mutating func text(_ bytes: ArraySlice<UInt8>, line: Int) throws(StreamError) -> String {
        var result: [UInt8] = []
        var rest = bytes
        while let brace = rest.firstIndex(of: UInt8(ascii: "{")) {
            let front = rest[brace...].dropFirst(2)
            let name = front.prefix(while: Self.isNameByte)
            let end = name.endIndex
            guard rest[brace...].dropFirst().first == UInt8(ascii: "$"), !name.isEmpty, end < rest.endIndex,
                rest[end] == UInt8(ascii: "}")
            else {
                result += rest[...brace]
                rest = rest[(brace + 1)...]
                continue
            }
            let key = String(decoding: name, as: UTF8.self)
            guard let value = variables[key] else {
                throw .invalid("the variable \(Self.shown(key)) is used but not defined", line: line)
            }
            result += rest[..<brace]
            result += value.utf8
            rest = rest[(end + 1)...]
            guard result.count <= limits.textBytes else { throw tooLong(line) }
        }
        guard result.count + rest.count <= limits.textBytes else { throw tooLong(line) }
        if result.isEmpty { return String(decoding: rest, as: UTF8.self) }
        try count(result.count + rest.count)
        return String(decoding: result + rest, as: UTF8.self)
    }

    /// Substitutes the variables of a URI and resolves it. User information in the URI is dropped.
    mutating func url(_ bytes: ArraySlice<UInt8>, line: Int) throws(StreamError) -> HTTPURL {
        let text = try text(bytes, line: line)
        guard !text.isEmpty, let url = resolved(text) else {
            throw .invalid("an address cannot be requested by HTTP", line: line)
        }
        try count(url.target.utf8.count)
        return url
    }

    /// Resolves a reference. Appends a plain name to `folder`, which takes a tenth of the time of a full resolution.
    /// Nearly all segments have plain names.
    private func resolved(_ text: String) -> HTTPURL? {
        if let folder, Self.isFileName(text), let url = HTTPURL(folder + text) { return url }
        let url = HTTPURL(text, relativeTo: base)
        return text.utf8.contains(UInt8(ascii: "@")) ? url?.withoutUserInfo : url
    }

    /// Whether a reference begins with a plain name, and has no scheme, dot segment or escape.
    private static func isFileName(_ text: String) -> Bool {
        guard let first = text.utf8.first, isNameByte(first) else { return false }
        var before = UInt8(0)
        for byte in text.utf8 {
            let isDot = byte == UInt8(ascii: ".")
            guard isNameByte(byte) || isDot || "/?&=+,;~".utf8.contains(byte),
                !(isDot && before == UInt8(ascii: "/"))
            else { return false }
            before = byte
        }
        return true
    }

    private mutating func count(_ bytes: Int) throws(StreamError) {
        addressBytes += bytes
        guard addressBytes <= limits.addressBytes else {
            throw .tooLarge("its addresses have more than \(limits.addressBytes >> 20) MiB")
        }
    }

    private func tooLong(_ line: Int) -> StreamError {
        .tooLarge("a text in line \(line) has more than \(limits.textBytes >> 10) KiB")
    }

    private static func shown(_ name: String) -> String { String(name.prefix(80)) }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: "_")
    }
}
