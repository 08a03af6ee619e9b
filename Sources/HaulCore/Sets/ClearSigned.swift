/// A text with a cleartext signature (RFC 9580 §7).
package enum ClearSigned {
    private static let start = "-----BEGIN PGP SIGNED MESSAGE-----"
    private static let end = "-----BEGIN PGP SIGNATURE-----"

    /// Whether the bytes begin as such a text.
    package static func isOne(_ bytes: [UInt8]) -> Bool {
        isLine(bytes.prefix { $0 != UInt8(ascii: "\n") }, start)
    }

    /// Returns the text without its signature. Does not check the signature. Returns `nil` for bytes that are no such
    /// text, contain more than one, or have more lines than a list of digests may have.
    package static func text(_ bytes: [UInt8]) -> [UInt8]? {
        // Each line costs memory, and a document of 64 MiB may consist of line breaks.
        guard isOne(bytes), bytes.count(where: { $0 == UInt8(ascii: "\n") }) <= ChecksumList.maximumLines else {
            return nil
        }
        let lines = lines(bytes)
        // Header fields such as `Hash: SHA256` end at the first empty line.
        guard let blank = lines.firstIndex(where: { trimmed($0).isEmpty }),
            let last = lines.firstIndex(where: { isLine($0, end) }), blank < last,
            lines[(blank + 1)...].allSatisfy({ !isLine($0, start) })
        else { return nil }
        var text: [UInt8] = []
        for line in lines[(blank + 1)..<last] {
            // A line that begins with a dash has `- ` before it.
            text += line.starts(with: "- ".utf8) ? line.dropFirst(2) : line
            text.append(UInt8(ascii: "\n"))
        }
        return text
    }

    private static func lines(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    }

    private static func isLine(_ line: ArraySlice<UInt8>, _ text: String) -> Bool {
        trimmed(line).elementsEqual(text.utf8)
    }

    private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let blanks: Set<UInt8> = [0x20, 0x09, 0x0D]
        return line.lastIndex { !blanks.contains($0) }.map { line[...$0] } ?? line.prefix(0)
    }
}
