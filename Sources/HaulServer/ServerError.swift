/// Why the server cannot start or go on: a sentence.
public struct ServerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The sentence.
    public let message: String
    /// The sentence.
    public var description: String { message }

    init(_ message: String) { self.message = message }
}
