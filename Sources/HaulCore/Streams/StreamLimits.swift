/// Bounds on playlists, which are untrusted.
package struct StreamLimits: Sendable, Hashable {
    package init() {}

    /// Largest playlist.
    package var playlistBytes = 16 << 20
    /// Most segments of a media playlist.
    package var segments = 1_000_000
    /// Most variants and renditions together.
    package var variants = 10_000
    /// Most attributes of one tag.
    package var attributes = 50
    /// Most formats of keys in force at once.
    package var keyFormats = 10
    /// Most variables of a playlist, with those that it imports.
    package var variables = 1000
    /// Longest URI, and longest value of a variable, after substitution.
    package var textBytes = 64 << 10
    /// All URLs of a playlist after resolution, with all texts after substitution. Otherwise, many short references
    /// could multiply a long base URL or value.
    package var addressBytes = 256 << 20
    /// Longest segment and longest target duration, in seconds.
    package var seconds = 1e6
    /// Largest sequence number. Leaves room for the numbers of all segments.
    package var number: Int64 = .max - 10_000_000
}
