internal import Foundation

/// The program ffmpeg, which puts films together that need more than bytes behind bytes: another container, parts with
/// other parameters, sound beside a transport stream.
///
/// Runs as a process of its own on local files, because it parses bytes from outside: without the network, without a
/// shell, and it ends with the download.
enum FFmpeg {
    /// Returns the path of the program in a folder of `PATH`; `nil` if there is none.
    static func find() -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return folders.lazy.filter { $0.hasPrefix("/") }.map { $0 + "/ffmpeg" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Writes the film.
    ///
    /// - Returns: `false` if `flag` was set.
    static func write(
        _ assembly: StreamAssembly,
        to path: String,
        _ services: EngineServices,
        unless flag: CancelFlag,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(DownloadError) -> Bool {
        guard let program = find() else {
            throw DownloadError(
                .programMissing,
                "This film needs ffmpeg. Install the package ffmpeg, and resume the download."
            )
        }
        guard !assembly.part.path.contains("\n") else {
            throw DownloadError(
                .invalidDestination,
                "ffmpeg cannot read a file in a folder whose name has a line break."
            )
        }
        let lists = try await services.runBlocking { () throws(DownloadError) in
            try Lists(assembly, assembly.timeline())
        }
        let work = Task.detached {
            try await ProgramOutput.of(
                program,
                arguments(assembly, lists, path),
                // Nothing of our environment concerns the program, and some of it may be secret.
                environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
            )
        }
        let watch = Task.detached {
            while !flag.isSet, !Task.isCancelled { try? await Task.sleep(for: .milliseconds(100)) }
            if flag.isSet { work.cancel() }
        }
        defer { watch.cancel() }
        let output: ProgramOutput
        do { output = try await work.value } catch {
            if flag.isSet { return false }
            throw error as? DownloadError
                ?? DownloadError(.programMissing, "ffmpeg could not be run.", cause: "\(error)")
        }
        withExtendedLifetime(lists) {}
        if flag.isSet { return false }
        guard output.status == 0, !lists.areNamed(in: output.complaint) else {
            throw DownloadError(
                .invalidStream,
                "ffmpeg could not put this film together. What was received is kept.",
                cause: String(output.complaint.suffix(500))
            )
        }
        return true
    }

    private static func arguments(_ assembly: StreamAssembly, _ lists: Lists, _ path: String) -> [String] {
        var arguments = ["-nostdin", "-hide_banner", "-loglevel", "error", "-y", "-max_alloc", "\(1 << 30)"]
        var maps: [String] = []
        let hasSeparateSound = assembly.tracks.contains { $0.description.role == .audio }
        for (index, track) in assembly.tracks.enumerated() {
            arguments += ["-protocol_whitelist", "file,subfile,concatf,fd,pipe"] + lists.input(of: index)
            switch track.description.role {
            // Metadata and the like have no place in most containers.
            case .main: maps += ["-map", "\(index):v?"] + (hasSeparateSound ? [] : ["-map", "\(index):a?"])
            case .audio: maps += ["-map", "\(index):a"]
            case .subtitles: maps += ["-map", "\(index):s"]
            }
        }
        // The times of the lists are those of the film. Pictures that are decoded before 0 are shown at 0.
        arguments += maps + ["-c", "copy", "-copyts"]
        for (kind, role) in [("a", StreamFilm.Track.Role.audio), ("s", .subtitles)] {
            for (number, track) in assembly.tracks.filter({ $0.description.role == role }).enumerated() {
                guard let language = track.description.language else { continue }
                arguments += ["-metadata:s:\(kind):\(number)", "language=\(LanguageCode.letters(language))"]
            }
        }
        let format =
            switch assembly.film.container {
            case .matroska: "matroska"
            case .transportStream, .transportStreamByProgram: "mpegts"
            case .mp4, .mp4ByProgram: "mp4"
            }
        if format == "mp4" { arguments += ["-c:s", "mov_text"] }
        // A leading slash keeps the path from being read as a protocol.
        return arguments + ["-f", format, path]
    }

    /// Lists of the log's ranges, which ffmpeg reads as if each part were a file, with the times of the parts in the film.
    /// They have no name on the disk.
    private final class Lists: Sendable {
        private let inputs: [[String]]
        private let files: [FileHandle]

        init(_ assembly: StreamAssembly, _ timeline: StreamTimeline) throws(DownloadError) {
            var (inputs, files) = ([[String]](), [FileHandle]())
            func list(_ text: String) throws(DownloadError) -> String {
                do {
                    let url = FileManager.default.temporaryDirectory.appending(path: "haul-\(UUID().uuidString)")
                    try Data(text.utf8).write(to: url, options: .withoutOverwriting)
                    let handle = try FileHandle(forReadingFrom: url)
                    try FileManager.default.removeItem(at: url)
                    files.append(handle)
                    return Self.folder + "\(handle.fileDescriptor)"
                } catch {
                    throw DownloadError(.diskFailed, "A list for ffmpeg could not be written.", cause: "\(error)")
                }
            }
            for (track, begins) in zip(assembly.tracks, timeline.begins) {
                if track.description.role == .subtitles {
                    inputs.append(["-f", "webvtt", "-i", try list(try WebVTT.text(track, of: assembly, on: timeline))])
                    continue
                }
                let parts = try track.parts.map { part throws(DownloadError) in
                    "concatf:"
                        + (try list(
                            part.ranges.map {
                                "subfile,,start,\($0.lowerBound),end,\($0.upperBound),,:\(assembly.part.path)\n"
                            }.joined()
                        ))
                }
                // ffmpeg lets each part begin where the one before it ended, the first at 0.
                var entries = "ffconcat version 1.0\n"
                for (number, part) in parts.enumerated() {
                    entries += "file '\(part)'\n"
                    guard number + 1 < parts.count else { continue }
                    entries += "duration \(Self.text(max(0, begins[number + 1] - begins[number])))\n"
                }
                inputs.append([
                    "-itsoffset", Self.text(begins.first ?? 0), "-f", "concat", "-safe", "0", "-i", try list(entries),
                ])
            }
            self.inputs = inputs
            self.files = files
        }

        private static func text(_ seconds: Double) -> String { String(format: "%.6f", seconds) }

        /// Whether ffmpeg complains of an input that it could not read to its end. It ends with status 0 all the same.
        func areNamed(in complaint: String) -> Bool {
            complaint.contains(Self.folder) || complaint.contains("Error during demuxing")
        }

        private static let folder = "/proc/\(ProcessInfo.processInfo.processIdentifier)/fd/"

        func input(of track: Int) -> [String] { inputs[track] }
    }
}
