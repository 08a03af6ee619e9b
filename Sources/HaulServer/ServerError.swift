/// Error that keeps the server from starting or running.
public struct ServerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A sentence that states the cause, for the user.
    public let message: String
    /// The ``message``.
    public var description: String { message }

    package init(_ message: String) { self.message = message }
}
