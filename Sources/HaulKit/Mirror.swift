public import Foundation

/// Another URL of the same file.
public struct Mirror: Sendable, Hashable, Codable {
    /// An `http` or `https` URL. Header fields of the request go to it only if it has the origin of the request's URL.
    public var url: URL
    /// 1 is tried first (RFC 5854 §4.2.16).
    public var priority: Int

    public init(_ url: URL, priority: Int = 999_999) {
        self.url = url
        self.priority = priority
    }
}
