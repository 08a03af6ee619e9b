/// The source of a request, relative to the source that the log of a film came from.
package enum LogSource: Sendable, Hashable {
    case same
    /// A new URL from the user. If it has other bytes, they replace the log.
    case other
    /// A mirror. If it has other bytes, the log stays as it is.
    case mirror
}
