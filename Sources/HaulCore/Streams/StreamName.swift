package import Foundation

/// Chooses the file name of a stream.
package enum StreamName {
    /// Names that packagers give to playlists. They do not name the film, so the preceding part of the path is used.
    private static let generic: Set<String> = ["master", "index", "playlist", "chunklist"]
    /// Extensions that are removed from a name before `ending` is appended.
    private static let replaced: Set<String> = [
        "m3u8", "m3u", "mp4", "m4v", "m4a", "m4s", "mov", "mkv", "ts", "m2ts", "mp3", "aac", "ism", "isml", "smil",
    ]

    /// Returns the name in the header, else the suggested name, else the first name in `urls`, else `stream`. Removes a
    /// media extension from the name, and appends `ending`.
    ///
    /// - Parameter ending: the extension of the result, without a dot: `mp4`, `ts`, `mkv`…
    package static func choose(
        contentDisposition: String?,
        suggested: String? = nil,
        urls: [URL],
        ending: String
    ) -> String {
        let header = contentDisposition.flatMap(ContentDisposition.fileName).flatMap(FileName.safe).map(withoutEnding)
        let title = suggested.flatMap(FileName.safeTitle).map(withoutEnding)
        let stem = header ?? title ?? urls.lazy.compactMap(stem).first ?? "stream"
        return FileName.safe(stem + "." + ending) ?? "stream." + ending
    }

    /// Returns the last part of the path that names the film, without an extension; `nil` if there is none.
    package static func stem(of url: URL) -> String? {
        let parts = url.path(percentEncoded: true).utf8.split(separator: UInt8(ascii: "/")).reversed()
        for part in parts.prefix(64) {
            let bytes = ArraySlice(part)
            let decoded = FieldText.decoded(FileName.percentDecoded(bytes) ?? Array(bytes))
            guard let name = FileName.safe(withoutPrefix(decoded)) else { continue }
            let stem = withoutEnding(name)
            if !isGeneric(stem) { return stem }
        }
        return nil
    }

    /// Whether a packager gave the name. Wowza numbers its chunklists: `chunklist_w1234`.
    private static func isGeneric(_ stem: String) -> Bool {
        let stem = stem.lowercased()
        return generic.contains(stem) || stem.hasPrefix("chunklist_")
    }

    /// Removes the kind that Wowza writes before a name: `mp4:talk.mp4`.
    private static func withoutPrefix(_ name: String) -> String {
        for prefix in ["mp4:", "smil:", "ngrp:"] where name.lowercased().hasPrefix(prefix) {
            return String(name.dropFirst(prefix.count))
        }
        return name
    }

    private static func withoutEnding(_ name: String) -> String {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return name }
        return replaced.contains(name[name.utf8.index(after: dot)...].lowercased()) ? String(name[..<dot]) : name
    }
}
