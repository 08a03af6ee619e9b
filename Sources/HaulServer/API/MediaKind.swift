/// The media type of a file, chosen by its extension. Answers with a file carry `nosniff`, so browsers guess no other
/// type.
struct MediaKind {
    let type: String
    /// Whether a browser may show the file. A browser saves any other file.
    let isShown: Bool

    // SVG and HTML are missing, because both can contain scripts.
    private static let shown = [
        "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
        "avif": "image/avif", "bmp": "image/bmp", "ico": "image/x-icon", "mp4": "video/mp4", "m4v": "video/mp4",
        "webm": "video/webm", "ogv": "video/ogg", "mov": "video/quicktime",
        "mp3": "audio/mpeg", "m4a": "audio/mp4", "ogg": "audio/ogg", "oga": "audio/ogg", "opus": "audio/ogg",
        "flac": "audio/flac", "wav": "audio/wav", "aac": "audio/aac", "txt": "text/plain; charset=utf-8",
        "log": "text/plain; charset=utf-8", "md": "text/plain; charset=utf-8", "csv": "text/plain; charset=utf-8",
        "json": "text/plain; charset=utf-8", "srt": "text/plain; charset=utf-8",
    ]

    /// Whether the file is a film or music that a browser plays.
    var isPlayed: Bool { isShown && (type.hasPrefix("video/") || type.hasPrefix("audio/")) }

    /// Films that browsers do not play.
    private static let saved = ["mkv": "video/x-matroska", "ts": "video/mp2t"]

    init(name: String) {
        let end = name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() }
        if let end, let type = Self.shown[end] {
            (self.type, isShown) = (type, true)
        } else if let end, let type = Self.saved[end] {
            (self.type, isShown) = (type, false)
        } else {
            (type, isShown) = ("application/octet-stream", false)
        }
    }
}

/// Makes a `Content-Disposition` field for a file name with any characters (RFC 6266, RFC 8187).
enum Disposition {
    static func field(_ name: String, isAttachment: Bool) -> String {
        let plain = String(
            name.unicodeScalars.map { scalar in
                scalar.value >= 32 && scalar.value < 127 && scalar != "\"" && scalar != "\\" && scalar != "%"
                    ? Character(scalar) : "_"
            }.prefix(150)
        )
        let allowed = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$&+-.^_`|~".utf8)
        let digits = Array("0123456789ABCDEF")
        var encoded = ""
        for byte in name.utf8.prefix(600) {
            if allowed.contains(byte) {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                encoded += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
        return (isAttachment ? "attachment" : "inline") + "; filename=\"\(plain)\"; filename*=UTF-8''\(encoded)"
    }
}
