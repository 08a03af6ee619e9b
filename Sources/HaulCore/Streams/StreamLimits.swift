/// Bounds on playlists, which are untrusted.
package struct StreamLimits: Sendable, Hashable {
    package init() {}

    /// Maximum size of a playlist, in bytes.
    package var playlistBytes = 16 << 20
    /// Maximum number of segments in a media playlist.
    package var segments = 1_000_000
    /// Maximum number of variants and renditions together.
    package var variants = 10_000
    /// Maximum number of attributes in one tag.
    package var attributes = 50
    /// Maximum number of key formats in force at once.
    package var keyFormats = 10
    /// Maximum number of variables in a playlist, with those that it imports.
    package var variables = 1000
    /// Maximum length of a URI or attribute value after substitution, in bytes.
    package var textBytes = 64 << 10
    /// Maximum length of all URLs of a playlist after resolution and of all texts after substitution, in bytes. Without
    /// this bound, many short references could multiply a long base URL or value.
    package var addressBytes = 256 << 20
    /// Longest segment and longest target duration, in seconds.
    package var seconds = 1e6
    /// Largest sequence number. Leaves room for the numbers of all segments.
    package var number: Int64 = .max - 10_000_000
}
