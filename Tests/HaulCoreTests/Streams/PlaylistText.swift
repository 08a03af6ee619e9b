@testable import HaulCore

/// Playlists for tests.
enum PlaylistText {
    static let url = HTTPURL("https://example.org/talk/list.m3u8?token=1")

    /// A media playlist of these lines, with a head.
    static func body(_ lines: String...) -> String {
        (["#EXTM3U", "#EXT-X-TARGETDURATION:10"] + lines).joined(separator: "\n")
    }

    static func media(
        _ text: String,
        url: String = "https://example.org/talk/list.m3u8?token=1",
        imports: [String: String] = [:],
        limits: StreamLimits = StreamLimits()
    ) throws(StreamError) -> MediaPlaylist {
        guard case .media(let playlist) = try parse(text, url: url, imports: imports, limits: limits) else {
            throw .unsupported("the test wanted a media playlist")
        }
        return playlist
    }

    static func multivariant(_ lines: String...) throws(StreamError) -> MultivariantPlaylist {
        guard case .multivariant(let playlist) = try parse((["#EXTM3U"] + lines).joined(separator: "\n")) else {
            throw .unsupported("the test wanted a multivariant playlist")
        }
        return playlist
    }

    static func parse(
        _ text: String,
        url: String = "https://example.org/talk/list.m3u8?token=1",
        imports: [String: String] = [:],
        limits: StreamLimits = StreamLimits()
    ) throws(StreamError) -> StreamPlaylist {
        guard let url = HTTPURL(url) else { throw .unsupported("the test wanted a URL") }
        return try StreamPlaylist.parse(Array(text.utf8), url: url, imports: imports, limits: limits)
    }

    /// The error of a playlist; `nil` if it is accepted.
    static func refusal(_ text: String, limits: StreamLimits = StreamLimits()) -> StreamError? {
        do throws(StreamError) {
            _ = try parse(text, limits: limits)
            return nil
        } catch { return error }
    }

    /// `count` plain segments of 4 seconds, from `first` on.
    static func segments(_ first: Int64, _ count: Int64, end: Bool = true) -> String {
        let lines = (first..<first + count).map { "#EXTINF:4,\n\($0).ts" }
        return body(lines: ["#EXT-X-MEDIA-SEQUENCE:\(first)"] + lines + (end ? ["#EXT-X-ENDLIST"] : []))
    }

    private static func body(lines: [String]) -> String {
        "#EXTM3U\n#EXT-X-TARGETDURATION:4\n" + lines.joined(separator: "\n")
    }
}
