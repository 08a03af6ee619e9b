/// Error of a D-Bus call or connection.
enum DBusError: Error, Sendable, Hashable {
    /// There is no such bus, or the connection broke.
    case notConnected
    /// The bus does not accept the user of this process.
    case notAuthenticated
    case timedOut
    /// A received or outgoing message does not follow the specification.
    case malformed
    /// The peer answered with an error of this name.
    case refused(String)
}
