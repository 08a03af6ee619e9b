/// The source of a request, relative to the source that the log of a film came from.
package enum LogSource: Sendable, Hashable {
    case same
    /// Another URL of the user. If it has other bytes, the log begins anew.
    case other
    /// A mirror. If it has other bytes, the log stays as it is.
    case mirror
}
