internal import Foundation
import RawStructuredFieldValues

/// Reads the checksum of the whole file that a response promises in `Repr-Digest` (RFC 9530 §3) or in the `Digest` of
/// the obsolete RFC 3230.
enum ReprDigest {
    /// Returns the strongest digest that Haul can compute, from the lines of each field.
    ///
    /// `Repr-Digest` takes precedence over `Digest`, and counts only with SHA-512 or SHA-256. SHA-1 and MD5 count only
    /// in a `Digest` without anything better. Digests of unknown algorithms, of the wrong length or in invalid base64
    /// are ignored.
    static func checksum(reprDigest: [String], digest: [String]) -> DownloadRequest.Checksum? {
        if reprDigest.isEmpty, digest.isEmpty { return nil }
        return strongest(dictionary(reprDigest), of: [("sha-512", .sha512), ("sha-256", .sha256)])
            ?? strongest(
                list(digest),
                of: [("sha-512", .sha512), ("sha-256", .sha256), ("sha", .sha1), ("md5", .md5)]
            )
    }

    private typealias Entry = (name: String, base64: String)

    private static func strongest(
        _ entries: [Entry],
        of algorithms: [(name: String, algorithm: DownloadRequest.Checksum.Algorithm)]
    ) -> DownloadRequest.Checksum? {
        for (name, algorithm) in algorithms {
            for entry in entries where entry.name == name {
                if let digest = bytes(base64: entry.base64),
                    let checksum = DownloadRequest.Checksum(algorithm, digest: digest)
                {
                    return checksum
                }
            }
        }
        return nil
    }

    /// Parses `sha-256=:4REjxQ4yrqUVicfSKYNO/cF9zNj5ANbzgDZt3/h3Qxo=:`. A field that is not a dictionary is ignored as
    /// a whole (RFC 9651 §4.2).
    private static func dictionary(_ lines: [String]) -> [Entry] {
        let text = Array(lines.joined(separator: ", ").utf8)
        // Bounds the parsing time, because the parser compares each key with all earlier keys. No real field is longer.
        guard text.count <= 4096 else { return [] }
        var parser = StructuredFieldValueParser(text)
        guard let members = try? parser.parseDictionaryFieldValue() else { return [] }
        return members.compactMap { name, member in
            guard case .item(let item) = member, case .undecodedByteSequence(let base64) = item.rfc9651BareItem else {
                return nil
            }
            return (name, base64)
        }
    }

    /// Parses `SHA-256=4REjxQ4yrqUVicfSKYNO/cF9zNj5ANbzgDZt3/h3Qxo=,MD5=…`, with names in any case (RFC 3230 §4.3.2).
    private static func list(_ lines: [String]) -> [Entry] {
        lines.flatMap { $0.utf8.split(separator: UInt8(ascii: ",")) }.compactMap { member in
            let parts = member.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { return nil }
            return (trimmed(parts[0]).lowercased(), trimmed(parts[1]))
        }
    }

    private static func trimmed(_ text: Substring.UTF8View) -> String {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        let front = text.drop(while: isBlank)
        guard let last = front.lastIndex(where: { !isBlank($0) }) else { return "" }
        return String(front[...last]) ?? ""
    }

    private static func bytes(base64: String) -> [UInt8]? {
        // Parsers SHOULD accept missing padding (RFC 9651 §4.2.7).
        let padding = String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
        return Data(base64Encoded: base64 + padding).map { Array($0) }
    }
}
