/// The source of a request, relative to the source that the log of a film came from.
package enum LogSource: Sendable, Hashable {
    case same
    /// A new URL from the user. Other bytes there replace the log.
    case other
    /// A mirror. Other bytes there leave the log as it is.
    case mirror
}
