/// Media types of file names by their extension, only for rules. Answers send a file with the type of ``MediaKind``.
enum FileType {
    /// Returns `application/octet-stream` for an unknown extension.
    static func named(_ name: String) -> String {
        let end = name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() } ?? ""
        if let type = types[end] { return type }
        return String(MediaKind(name: name).type.prefix { $0 != ";" })
    }

    /// Types that ``MediaKind`` does not have, or that it sends as plain text.
    private static let types = [
        "7z": "application/x-7z-compressed", "aif": "audio/aiff", "aiff": "audio/aiff",
        "apk": "application/vnd.android.package-archive", "avi": "video/x-msvideo", "br": "application/x-brotli",
        "bz2": "application/x-bzip2", "csv": "text/csv", "deb": "application/vnd.debian.binary-package",
        "dmg": "application/x-apple-diskimage", "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "epub": "application/epub+zip", "exe": "application/vnd.microsoft.portable-executable",
        "flv": "video/x-flv", "gz": "application/gzip", "heic": "image/heic", "htm": "text/html",
        "html": "text/html", "img": "application/x-raw-disk-image", "iso": "application/x-iso9660-image",
        "jar": "application/java-archive", "json": "application/json", "m3u8": "application/vnd.apple.mpegurl",
        "md": "text/markdown", "mid": "audio/midi", "mobi": "application/x-mobipocket-ebook", "mpeg": "video/mpeg",
        "mpg": "video/mpeg", "msi": "application/x-msi", "odp": "application/vnd.oasis.opendocument.presentation",
        "ods": "application/vnd.oasis.opendocument.spreadsheet", "odt": "application/vnd.oasis.opendocument.text",
        "pdf": "application/pdf", "ppt": "application/vnd.ms-powerpoint",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "rar": "application/vnd.rar", "rpm": "application/x-rpm", "rtf": "application/rtf", "svg": "image/svg+xml",
        "tar": "application/x-tar", "tgz": "application/gzip", "tif": "image/tiff", "tiff": "image/tiff",
        "torrent": "application/x-bittorrent", "wma": "audio/x-ms-wma", "wmv": "video/x-ms-wmv",
        "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xml": "application/xml",
        "xz": "application/x-xz", "zip": "application/zip", "zst": "application/zstd",
    ]
}
