/// Why a D-Bus peer could not be asked.
enum DBusError: Error, Sendable, Hashable {
    /// No such bus, or the connection broke.
    case notConnected
    /// The bus does not know our user.
    case notAuthenticated
    case timedOut
    /// What came, or was to be sent, does not follow the specification.
    case malformed
    /// The peer answered with an error of this name.
    case refused(String)
}
