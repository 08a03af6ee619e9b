internal import Foundation
internal import HaulKit

/// aria2's input file; its session file has the same format. A line of URIs separated by tabs is a download. The
/// following lines that begin with a blank contain its options.
package struct Aria2InputFile: Sendable, Equatable {
    package private(set) var requests: [Aria2Request] = []
    /// The first 100 lines without a known option of aria2. As in aria2, they only cause a warning.
    package private(set) var unknownOptions: [String] = []

    /// Maximum size of a line in bytes; enough for many mirrors with long URLs.
    private static let longestLine = 1 << 20
    /// Maximum size of a file in bytes; enough for a million downloads with their options.
    package static let longest = 1 << 30

    /// - Parameters:
    ///   - path: path of the file; `-` for standard input.
    ///   - isSequential: whether each URI of a line is a separate download, as with `--force-sequential`.
    package init(path: String, isSequential: Bool = false) throws(Aria2Error) {
        try self.init(Aria2TextFile.contents(path, limit: Self.longest), isSequential: isSequential)
    }

    /// - Throws: ``Aria2Error`` with code ``Aria2ErrorCode/badOption`` for an invalid value of an option.
    package init(_ text: some Collection<UInt8>, isSequential: Bool = false) throws(Aria2Error) {
        var uris: [String] = []
        var options = Aria2Options()
        func finish(_ requests: inout [Aria2Request]) {
            if isSequential {
                requests += uris.map { Aria2Request(uris: [$0], options: options) }
            } else if !uris.isEmpty {
                requests.append(Aria2Request(uris: uris, options: options))
            }
            (uris, options) = ([], Aria2Options())
        }
        for line in text.split(separator: UInt8(ascii: "\n")) {
            guard line.count <= Self.longestLine else {
                throw Aria2Error(.unknown, "A line of the input file is longer than \(Self.longestLine) bytes.")
            }
            guard let first = line.first, first != UInt8(ascii: "#") else { continue }
            if Self.isBlank(first) {
                try Self.read(line, into: &options, &unknownOptions)
            } else {
                finish(&requests)
                uris = line.split(whereSeparator: { $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") })
                    .map { Self.trimmed($0) }.filter { !$0.isEmpty }
            }
        }
        finish(&requests)
    }

    private static let mostUnknown = 100

    private static func read(
        _ line: some Collection<UInt8>,
        into options: inout Aria2Options,
        _ unknown: inout [String]
    ) throws(Aria2Error) {
        let text = try Aria2TextFile.option(line).trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.isEmpty, !text.hasPrefix("#"), let equals = text.firstIndex(of: "=") else { return }
        let name = text[..<equals].trimmingCharacters(in: .whitespaces)
        guard let option = Aria2Option.named(name) else {
            if unknown.count < mostUnknown { unknown.append(text) }
            return
        }
        // Ignores options of the process, as aria2 does, because they do not belong to a download.
        guard option.scope != .global else { return }
        do throws(Aria2OptionError) {
            try options.set(name, text[text.index(after: equals)...].trimmingCharacters(in: .whitespaces))
        } catch { throw Aria2Error(error) }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    /// Returns a URI. Escapes bytes that are not UTF-8.
    private static func trimmed(_ bytes: some Collection<UInt8>) -> String {
        SpelledURL.text(Array(bytes)[...]).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
