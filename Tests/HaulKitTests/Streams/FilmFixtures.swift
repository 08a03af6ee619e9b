import Foundation
import HaulTesting
import Synchronization

@testable import HaulCore
@testable import HaulKit

/// A film that ffmpeg encoded, of which ffmpeg makes streams. Each is encoded once for a run of the tests.
struct FilmSource: Sendable {
    /// The film in Matroska.
    let bytes: [UInt8]
    private let id = UUID().uuidString
    private static let streams = Mutex<[[String]: Task<FilmFiles, any Error>]>([:])
    let decoded: DecodedFilm

    /// Six seconds with one sound.
    static let plain = Task { try await FilmSource(seconds: 6) }
    /// Three seconds of another film, of the same size and with other parameters of its codecs.
    static let other = Task {
        try await FilmSource(seconds: 3, picture: ",hue=h=120", codec: ["-preset", "veryfast"], sounds: [880])
    }
    /// Six seconds of one picture without sound, of which most packets of a transport stream are filler.
    static let still = Task {
        try await FilmSource(
            seconds: 6,
            picture: ",trim=end_frame=1,loop=loop=149:size=1,setpts=N/25/TB",
            codec: ["-preset", "medium"],
            sounds: []
        )
    }
    /// Three seconds whose sound has another rate.
    static let otherRate = Task { try await FilmSource(seconds: 3, rate: 44_100) }
    /// Five seconds with a sound each for two languages.
    static let languages = Task { try await FilmSource(seconds: 5, sounds: [440, 880]) }

    /// Encodes a film with a key frame each second.
    ///
    /// - Parameters:
    ///   - picture: filters behind the picture, and before them the filters' comma.
    ///   - sounds: frequencies of the sound tracks in Hz.
    ///   - rate: samples of sound a second.
    init(
        seconds: Int,
        size: String = "160x120",
        picture: String = "",
        codec: [String] = ["-preset", "ultrafast"],
        sounds: [Int] = [440],
        rate: Int = 48_000
    ) async throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let pictures = "testsrc2=size=\(size):rate=25:duration=\(seconds)\(picture)"
        var inputs = ["-f", "lavfi", "-i", pictures]
        var outputs =
            ["-map", "0", "-c:v", "libx264"] + codec
            + ["-crf", "36", "-bf", "2", "-g", "25", "-sc_threshold", "0", "-pix_fmt", "yuv420p", "-threads", "1"]
            + ["-f", "matroska", folder("pictures.mkv")]
        var parts = ["-i", folder("pictures.mkv")]
        for (number, sound) in sounds.enumerated() {
            inputs += ["-f", "lavfi", "-i", "sine=frequency=\(sound):sample_rate=\(rate):duration=\(seconds)"]
            // ADTS has no place for a delay of the encoder, so that each container shows each frame. Without noise,
            // which decoders make up, sound behind a seam is decoded as that of a film of its own.
            outputs += ["-map", "\(number + 1)", "-c:a", "aac", "-aac_pns", "0", "-b:a", "32k", "-threads", "1"]
            outputs += ["-f", "adts", folder("\(number).aac")]
            parts += ["-i", folder("\(number).aac")]
        }
        try await FilmProgram.ffmpeg(inputs + outputs)
        let maps = (0...sounds.count).flatMap { ["-map", "\($0)"] }
        try await FilmProgram.ffmpeg(parts + maps + ["-c", "copy", "-f", "matroska", folder("film.mkv")])
        bytes = Array(try Data(contentsOf: URL(fileURLWithPath: folder("film.mkv"))))
        decoded = try await DecodedFilm(path: folder("film.mkv"))
    }

    /// Returns the film as a stream with segments of a second. Each is cut once for a run of the tests.
    ///
    /// - Parameters:
    ///   - options: options of ffmpeg's format `hls`.
    ///   - name: names of the segments, in which `%d` is the number of a segment and `%v` the name of a variant.
    ///   - list: name of the playlist.
    ///   - key: key and vector with which ffmpeg encrypts the segments; the key is the file `key`.
    func stream(
        _ options: [String] = [],
        segments name: String = "%d.ts",
        list: String = "list.m3u8",
        key: (bytes: [UInt8], vector: [UInt8])? = nil
    ) async throws -> FilmFiles {
        let secret = key.map { FilmCipher.hexadecimal($0.bytes + $0.vector) } ?? ""
        let task = Self.streams.withLock { streams in
            let made = [id, name, list, secret] + options
            let task = streams[made] ?? Task { try await cut(options, name, list, key) }
            streams[made] = task
            return task
        }
        return try await task.value
    }

    private func cut(_ options: [String], _ name: String, _ list: String, _ key: (bytes: [UInt8], vector: [UInt8])?)
        async throws -> FilmFiles
    {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        try Data(bytes).write(to: URL(fileURLWithPath: folder("film.mkv")))
        let stream = try folder.makeFolder("stream")
        var options = options
        if let key {
            try Data(key.bytes).write(to: URL(fileURLWithPath: stream + "/key"))
            let info = "key\n\(stream)/key\n\(FilmCipher.hexadecimal(key.vector))\n"
            try Data(info.utf8).write(to: URL(fileURLWithPath: folder("info")))
            options += ["-hls_key_info_file", folder("info")]
        }
        try await FilmProgram.ffmpeg(
            ["-i", folder("film.mkv"), "-map", "0", "-c", "copy", "-f", "hls", "-hls_time", "1", "-hls_list_size", "0"]
                + options + ["-hls_segment_filename", stream + "/" + name, stream + "/" + list]
        )
        return try FilmFiles(folder: stream)
    }
}

/// The files of a stream, by their names.
struct FilmFiles: Sendable {
    var files: [String: [UInt8]] = [:]

    init(folder: String) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            files[name] = Array(try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name)))
        }
    }

    /// Three seconds in three sizes, one variant each: `small`, `middle` and `large` in `master.m3u8`.
    static let variants = Task {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let sizes = ["160x120", "80x60", "320x240"]
        let inputs = sizes.flatMap { ["-f", "lavfi", "-i", "testsrc2=size=\($0):rate=25:duration=3"] }
        try await FilmProgram.ffmpeg(
            inputs + ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000:duration=3"]
                + (0..<3).flatMap { ["-map", "\($0)", "-map", "3"] }
                + ["-c:v", "libx264", "-preset", "ultrafast", "-b:v:0", "80k", "-b:v:1", "40k", "-b:v:2", "200k"]
                + ["-bf", "2", "-g", "25", "-sc_threshold", "0", "-pix_fmt", "yuv420p", "-threads", "1"]
                + ["-c:a", "aac", "-aac_pns", "0", "-b:a", "32k", "-f", "hls", "-hls_time", "1", "-hls_list_size", "0"]
                + ["-var_stream_map", "v:0,a:0,name:middle v:1,a:1,name:small v:2,a:2,name:large"]
                + ["-master_pl_name", "master.m3u8", "-hls_segment_filename", folder("%v-%d.ts"), folder("%v.m3u8")]
        )
        return try FilmFiles(folder: folder.path)
    }

    subscript(_ name: String) -> [UInt8] { files[name] ?? [] }

    func text(_ name: String = "list.m3u8") -> String { String(decoding: self[name], as: UTF8.self) }

    /// The lines of a playlist that belong to its segments: the tags before the reference, and the reference.
    func entries(_ name: String = "list.m3u8") -> [String] {
        var entries: [String] = []
        var tags: [Substring] = []
        for line in text(name).split(separator: "\n") {
            if line.hasPrefix("#EXTINF") || line.hasPrefix("#EXT-X-BYTERANGE") { tags.append(line) }
            guard !line.hasPrefix("#") else { continue }
            entries.append((tags + [line]).joined(separator: "\n"))
            tags = []
        }
        return entries
    }

    /// A site with these files in a folder.
    ///
    /// - Parameter folder: path of the folder, as `/talk/`.
    func put(on site: StreamSite, at folder: String = "/talk/") {
        for (name, bytes) in files { site.put(bytes, at: folder + name) }
    }

    func site() -> StreamSite {
        let site = StreamSite()
        put(on: site)
        return site
    }

    /// Decodes files one behind another.
    func decoded(_ names: [String]) async throws -> DecodedFilm {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        try Data(names.flatMap { self[$0] }).write(to: URL(fileURLWithPath: folder("film")))
        return try await DecodedFilm(path: folder("film"))
    }
}

/// AES-128 in CBC mode with PKCS#7 padding, by OpenSSL.
enum FilmCipher {
    static let key: [UInt8] = Array(1...16)
    static let otherKey: [UInt8] = Array(101...116)

    static func hexadecimal(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

    static func encrypt(_ plain: [UInt8], key: [UInt8], vector: [UInt8]) async throws -> [UInt8] {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        try Data(plain).write(to: URL(fileURLWithPath: folder("plain")))
        try await FilmProgram.run(
            "openssl",
            [
                "enc", "-aes-128-cbc", "-K", hexadecimal(key), "-iv", hexadecimal(vector), "-in", folder("plain"),
                "-out", folder("encrypted"),
            ]
        )
        return Array(try Data(contentsOf: URL(fileURLWithPath: folder("encrypted"))))
    }
}
