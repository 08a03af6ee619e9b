/// The source of a request, relative to the source that the log of a film came from.
package enum LogSource: Sendable, Hashable {
    case same
    /// The URL of the download, if it is new or the log came from a mirror; or a mirror of a film with a known digest.
    /// If the source has other bytes, they replace the log.
    case other
    /// A mirror of a film without a known digest. If the mirror has other bytes, the log stays as it is.
    case mirror
}
