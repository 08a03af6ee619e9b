public import Foundation

/// The name of a download in its store; never changes, whatever becomes of its URL.
public struct DownloadID: Sendable, Hashable, Codable, RawRepresentable, CustomStringConvertible {
    public let rawValue: UUID

    public init(rawValue: UUID) { self.rawValue = rawValue }
    /// A new one, in the form of RFC 9562 §5.7: it begins with the time, so that downloads that are added together, and
    /// change together, lie together in the store's index.
    public init() {
        var bytes = UUID().uuid
        let milliseconds = UInt64(max(0, Date().timeIntervalSince1970) * 1000)
        withUnsafeBytes(of: milliseconds.bigEndian) { time in
            (bytes.0, bytes.1, bytes.2) = (time[2], time[3], time[4])
            (bytes.3, bytes.4, bytes.5) = (time[5], time[6], time[7])
        }
        bytes.6 = bytes.6 & 0x0F | 0x70
        rawValue = UUID(uuid: bytes)
    }
    /// Reads the form that ``description`` writes.
    public init?(_ text: String) {
        guard let uuid = UUID(uuidString: text) else { return nil }
        rawValue = uuid
    }

    public var description: String { rawValue.uuidString.lowercased() }
}
