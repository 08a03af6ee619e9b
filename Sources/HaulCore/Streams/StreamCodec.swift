/// Codecs as RFC 6381 writes them (`avc1.64001f`), and as people name them (`h264`).
enum StreamCodec {
    static func isAudio(_ codec: String) -> Bool {
        let family = family(codec)
        return sound.contains(family) || family.hasPrefix("dts")
    }

    private static let sound: Set<String> = ["mp4a", "ac-3", "ec-3", "ac-4", "opus", "flac", "alac", "mp3"]

    /// Returns the part before the first point, in lower case.
    static func family(_ codec: String) -> String { codec.prefix { $0 != "." }.lowercased() }

    /// Returns the families that people mean by a word; `nil` for a word that names no codec.
    static func families(named word: String) -> [String]? {
        let word = word.lowercased()
        if let families = words[word] { return families }
        return words.values.first { $0.contains(word) }.map { _ in [word] }
    }

    private static let words: [String: [String]] = [
        "h264": ["avc1", "avc3"], "avc": ["avc1", "avc3"],
        "h265": ["hvc1", "hev1", "dvh1", "dvhe"], "hevc": ["hvc1", "hev1", "dvh1", "dvhe"],
        "av1": ["av01", "dav1"], "vp9": ["vp09"], "vp8": ["vp08"], "dv": ["dvh1", "dvhe", "dav1"],
        "aac": ["mp4a"], "ac3": ["ac-3"], "eac3": ["ec-3"], "opus": ["opus"], "flac": ["flac"],
    ]
}
