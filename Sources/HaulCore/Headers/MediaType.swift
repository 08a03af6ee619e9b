/// Maps media types to file name extensions.
enum MediaType {
    /// Adds the extension of the type to a name without a dot. Adds none for a type that `extensions` does not list.
    static func completing(_ name: String, _ type: String?) -> String {
        guard !name.utf8.contains(UInt8(ascii: ".")), let type, let ending = extensions[type] else { return name }
        return FileName.safe(name + "." + ending) ?? name
    }

    /// Adds the extension of the type to a title. In a title a dot need not begin an extension: `Lesson 1.2 Waves`.
    static func completing(title: String, _ type: String?) -> String {
        guard let type, let ending = extensions[type], !hasExtension(title) else { return title }
        return FileName.safe(title + "." + ending) ?? title
    }

    /// Whether the last dot is followed by up to eight letters and digits with at least one letter, or by three digits,
    /// such as `.001` of a split file.
    private static func hasExtension(_ title: String) -> Bool {
        guard let dot = title.utf8.lastIndex(of: UInt8(ascii: ".")) else { return false }
        let ending = title.utf8[title.utf8.index(after: dot)...]
        let isLetter = { (byte: UInt8) in (0x61...0x7A).contains(byte | 0x20) }
        let isDigit = { (byte: UInt8) in (0x30...0x39).contains(byte) }
        guard (1...8).contains(ending.count), ending.allSatisfy({ isLetter($0) || isDigit($0) }) else { return false }
        return ending.contains(where: isLetter) || ending.count == 3
    }

    /// Returns whether a file is a film or music, by its type or else by the extension in the path of its URL.
    static func isFilmOrMusic(_ type: String?, path: String) -> Bool {
        if let type, type.hasPrefix("video/") || type.hasPrefix("audio/") { return true }
        return path.lastIndex(of: ".").map { played.contains(path[path.index(after: $0)...].lowercased()) } ?? false
    }

    private static let played: Set = [
        "mp4", "m4v", "mov", "mkv", "webm", "avi", "ogv", "mp3", "m4a", "flac", "ogg", "oga", "opus", "wav", "aac",
    ]

    /// Types that determine what the file is. Types that servers send for unknown files (`text/plain`,
    /// `application/octet-stream`, `application/x-gzip`) and types of programs are left out.
    private static let extensions = [
        "application/pdf": "pdf", "application/zip": "zip", "application/epub+zip": "epub", "application/json": "json",
        "application/x-7z-compressed": "7z", "application/x-tar": "tar", "application/vnd.rar": "rar",
        "application/x-iso9660-image": "iso", "application/vnd.debian.binary-package": "deb",
        "application/x-rpm": "rpm",
        "application/vnd.android.package-archive": "apk", "application/x-bittorrent": "torrent",
        "application/metalink4+xml": "meta4", "application/metalink+xml": "metalink", "application/rtf": "rtf",
        "application/msword": "doc", "application/vnd.ms-excel": "xls", "application/vnd.ms-powerpoint": "ppt",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
        "application/vnd.oasis.opendocument.text": "odt", "application/vnd.oasis.opendocument.spreadsheet": "ods",
        "application/vnd.oasis.opendocument.presentation": "odp", "application/xhtml+xml": "xhtml", "text/html": "html",
        "text/csv": "csv", "text/calendar": "ics", "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif",
        "image/webp": "webp", "image/avif": "avif", "image/heic": "heic", "image/bmp": "bmp", "image/tiff": "tiff",
        "image/svg+xml": "svg", "audio/mpeg": "mp3", "audio/flac": "flac", "audio/wav": "wav", "audio/x-wav": "wav",
        "audio/mp4": "m4a", "audio/aac": "aac", "video/mp4": "mp4", "video/webm": "webm", "video/x-matroska": "mkv",
        "video/quicktime": "mov", "video/x-msvideo": "avi", "font/woff2": "woff2", "font/woff": "woff",
        "font/ttf": "ttf",
        "font/otf": "otf",
    ]
}
