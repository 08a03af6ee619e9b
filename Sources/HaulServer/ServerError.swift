/// Error that keeps the server from starting or running.
package struct ServerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A sentence that states the cause, for the user.
    package let message: String
    /// The ``message`` alone, which logs and interpolations show.
    package var description: String { message }

    package init(_ message: String) { self.message = message }
}
