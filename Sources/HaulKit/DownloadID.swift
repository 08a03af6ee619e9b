public import Foundation

/// The name of a download in its store; never changes, whatever becomes of its URL.
public struct DownloadID: Sendable, Hashable, Codable, RawRepresentable, CustomStringConvertible {
    public let rawValue: UUID

    public init(rawValue: UUID) { self.rawValue = rawValue }
    public init() { rawValue = UUID() }
    /// Reads the form that ``description`` writes.
    public init?(_ text: String) {
        guard let uuid = UUID(uuidString: text) else { return nil }
        rawValue = uuid
    }

    public var description: String { rawValue.uuidString.lowercased() }
}
