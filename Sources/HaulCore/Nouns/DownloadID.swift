package import Foundation

/// Identifies a download in its store. Does not change when the URL of the download does.
public struct DownloadID: Sendable, Hashable, CustomStringConvertible {
    /// Has version 7 if ``init()`` made the id. An id that was read from a text may have any version.
    package let rawValue: UUID

    package init(rawValue: UUID) { self.rawValue = rawValue }
    /// Makes a new id: a UUID of version 7 (RFC 9562 §5.7). It begins with the time, so downloads that are added
    /// together are neighbours in the store's index.
    public init() {
        // `UUID()` would open a device file for each id.
        var random = SystemRandomNumberGenerator()
        self.init(at: Date(), using: &random)
    }
    /// Makes an id from the given time and random numbers.
    package init(at date: Date, using random: inout some RandomNumberGenerator) {
        var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &bytes) {
            $0.storeBytes(of: random.next(), toByteOffset: 8, as: UInt64.self)
        }
        (bytes.6, bytes.7) = (random.next(), random.next())
        bytes.8 = bytes.8 & 0x3F | 0x80
        let milliseconds = UInt64(max(0, date.timeIntervalSince1970) * 1000)
        withUnsafeBytes(of: milliseconds.bigEndian) { time in
            (bytes.0, bytes.1, bytes.2) = (time[2], time[3], time[4])
            (bytes.3, bytes.4, bytes.5) = (time[5], time[6], time[7])
        }
        bytes.6 = bytes.6 & 0x0F | 0x70
        rawValue = UUID(uuid: bytes)
    }
    /// Restores an id from the 8-4-4-4-12 form that ``description`` writes, with digits of either case. Does not check
    /// whether a download has the id.
    ///
    /// - Returns: `nil` for any other text.
    public init?(_ text: String) {
        var text = text
        guard let id = text.withUTF8({ Self.read($0) }) else { return nil }
        rawValue = id
    }

    /// Reads the form of ``description`` from UTF-8 bytes; `nil` for any other text.
    package init?(utf8 text: UnsafeBufferPointer<UInt8>) {
        guard let id = Self.read(text) else { return nil }
        rawValue = id
    }

    private static func read(_ text: UnsafeBufferPointer<UInt8>) -> UUID? {
        guard text.count == 36 else { return nil }
        var halves: (UInt64, UInt64) = (0, 0)
        for index in 0..<36 {
            if isHyphen(index) {
                guard text[index] == UInt8(ascii: "-") else { return nil }
                continue
            }
            guard let value = text[index].hexadecimalValue else { return nil }
            if index < 18 { halves.0 = halves.0 << 4 | UInt64(value) } else { halves.1 = halves.1 << 4 | UInt64(value) }
        }
        var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &bytes) {
            $0.storeBytes(of: halves.0.bigEndian, as: UInt64.self)
            $0.storeBytes(of: halves.1.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        return UUID(uuid: bytes)
    }

    /// The UUID in lower-case hexadecimal, 8-4-4-4-12. An application may store this text.
    public var description: String {
        // Written by hand, like the parser, for speed: the store writes this text several times for each record.
        withUnsafeBytes(of: rawValue.uuid) { bytes in
            String(unsafeUninitializedCapacity: 36) { text in
                var digits = 0
                for index in 0..<36 {
                    if Self.isHyphen(index) {
                        text[index] = UInt8(ascii: "-")
                        continue
                    }
                    let value = digits % 2 == 0 ? bytes[digits / 2] >> 4 : bytes[digits / 2] & 0x0F
                    text[index] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
                    digits += 1
                }
                return 36
            }
        }
    }

    /// Whether the character at this index of the 8-4-4-4-12 form is a hyphen.
    private static func isHyphen(_ index: Int) -> Bool { index == 8 || index == 13 || index == 18 || index == 23 }
}

extension DownloadID: Codable, CodedAsText {
    private enum EarlierKeys: String, CodingKey { case rawValue }

    /// Returns the text of the id. Also reads the form of earlier versions: an object with the text as its `rawValue`.
    package static func text(from decoder: any Decoder) throws -> String {
        do { return try decoder.singleValueContainer().decode(String.self) } catch {
            return try decoder.container(keyedBy: EarlierKeys.self).decode(UUID.self, forKey: .rawValue).uuidString
        }
    }

    /// - Throws: `DecodingError` if the text is not the ID of a download.
    package init(text: String, from decoder: any Decoder) throws {
        guard let id = DownloadID(text) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "This is not the ID of a download.")
            )
        }
        self = id
    }
}
