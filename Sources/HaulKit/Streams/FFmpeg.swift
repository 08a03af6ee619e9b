internal import Foundation

/// The program ffmpeg. Puts together the films for which joining the bytes is not enough: another container, parts with
/// other parameters, sound beside a transport stream.
///
/// ffmpeg parses bytes from outside, so it runs as a process of its own on local files, without the network and without
/// a shell. A pause or a cancellation of the download ends the process.
enum FFmpeg {
    struct Terms: Sendable {
        /// Returns the path of the program; `nil` if there is none.
        var find: @Sendable () -> String? = { SystemPrograms.path(of: "ffmpeg") }
        /// How long the program may write nothing before it is ended.
        var patience = Duration.seconds(300)
    }

    /// Writes the film.
    ///
    /// The program outlives a killed Haul, because posix_spawn cannot tie it to its parent. Each run therefore creates
    /// a new file and passes the path of its descriptor, `/proc/PID/fd/N`. A program that an earlier run left behind
    /// cannot write to the new file: it has another file open, and its path no longer exists.
    ///
    /// - Parameter path: where the film is written; a file there is removed.
    /// - Returns: `nil` if `flag` was set.
    static func write(
        _ assembly: StreamAssembly,
        to path: String,
        _ services: EngineServices,
        unless flag: CancelFlag,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(DownloadError) -> (any DiskFile)? {
        guard let program = services.ffmpeg.find() else {
            let other = assembly.shape.isPlain ? ", or choose the container ts" : ""
            throw DownloadError(
                .programMissing,
                "This film needs ffmpeg. Install the package ffmpeg\(other), and resume the download."
            )
        }
        let lists = try await services.runBlocking { () throws(DownloadError) in
            try FFmpegLists(assembly, assembly.timeline())
        }
        let (disk, patience) = (services.disk, services.ffmpeg.patience)
        let file = try await services.onDisk { () throws(DiskError) in try disk.createAnew(path) }
        let target = (file as? PosixFile).map { OpenFilePath.of($0.descriptor) } ?? "file:" + path
        let work = Task.detached {
            try await ProgramOutput.of(
                program,
                arguments(assembly, lists, target),
                // The program needs nothing of Haul's environment, which may contain secrets.
                environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"],
                // ffmpeg opens each range of the log as a file of its own.
                opensManyFiles: true
            )
        }
        let isStuck = CancelFlag()
        let watch = Task.detached {
            await followGrowth(of: file, patience, isStuck, unless: flag)
            if flag.isSet || isStuck.isSet { work.cancel() }
        }
        defer { watch.cancel() }
        let output: ProgramOutput
        do { output = try await work.value } catch {
            if flag.isSet { return nil }
            if isStuck.isSet {
                throw DownloadError(
                    .invalidStream,
                    "ffmpeg wrote nothing for \(patience.components.seconds) seconds and was ended. What was received is kept."
                )
            }
            throw error as? DownloadError
                ?? DownloadError(.programMissing, "ffmpeg could not be run.", cause: "\(error)")
        }
        withExtendedLifetime(lists) {}
        if flag.isSet { return nil }
        try check(output, lists)
        try checkPictures(output, assembly)
        let fault = try await services.onDisk { () throws(DiskError) in try findFault(of: file, assembly) }
        if let fault {
            throw DownloadError(
                .invalidStream,
                "\(fault) What was received is kept. Check the program at \(program)."
            )
        }
        return file
    }

    /// Sets `isStuck` when the file has kept its length for longer than `patience`. Returns then, and when `flag` is
    /// set or the task is cancelled.
    private static func followGrowth(
        of file: any DiskFile,
        _ patience: Duration,
        _ isStuck: CancelFlag,
        unless flag: CancelFlag
    ) async {
        var (size, moved) = (Int64(-1), SuspendingClock.now)
        while !flag.isSet, !isStuck.isSet, !Task.isCancelled {
            // A cancelled sleep ends the loop.
            try? await Task.sleep(for: .milliseconds(100))
            // A size that cannot be read counts as unchanged.
            let now = (try? file.size()) ?? size
            if now != size { (size, moved) = (now, SuspendingClock.now) }
            if SuspendingClock.now - moved > patience { isStuck.set() }
        }
    }

    /// Returns a sentence about the part of the log that the film lacks; `nil` for a whole film.
    ///
    /// Too few bytes alone prove nothing, because segments may consist mostly of stuffing. Too few seconds alone prove
    /// nothing, because a clock that starts over makes a film shorter.
    private static func findFault(of file: any DiskFile, _ assembly: StreamAssembly) throws(DiskError) -> String? {
        let size = try file.size()
        guard size > 0 else { return "ffmpeg reported no error and wrote nothing." }
        guard size < assembly.length / 2, assembly.film.container.ending == "mp4" else { return nil }
        let seconds = try MovieDuration.seconds(length: size) { range throws(DiskError) in
            try file.read(at: range.lowerBound, count: range.count)
        }
        let wanted = assembly.tracks.first?.seconds ?? 0
        guard (seconds ?? 0) < wanted - max(2, wanted / 20) else { return nil }
        return String(
            format: "ffmpeg reported no error and wrote %.0f of %.0f seconds of this film.",
            seconds ?? 0,
            wanted
        )
    }

    /// Checks that the film has each picture of the log. ffmpeg reports no error when it leaves out pictures that it
    /// does not find at the beginning of a part.
    private static func checkPictures(_ output: ProgramOutput, _ assembly: StreamAssembly) throws(DownloadError) {
        let written = output.text.split(separator: "\n").last { $0.hasPrefix("frame=") }
            .flatMap { Int($0.dropFirst("frame=".count).drop { $0 == " " }) }
        guard let written, let wanted = assembly.pictures, written < wanted else { return }
        let other = assembly.shape.isPlain ? " The container ts takes the segments as they are." : ""
        throw DownloadError(
            .invalidStream,
            "ffmpeg reported no error and wrote \(written) of the \(wanted) pictures of this film. What was received is kept.\(other)"
        )
    }

    private static func check(_ output: ProgramOutput, _ lists: FFmpegLists) throws(DownloadError) {
        // If ffmpeg cannot read an input to its end, it reports this only as text and ends with status 0.
        let isOfFiles =
            output.complaint.contains(OpenFilePath.folder) || output.complaint.contains("Error during demuxing")
        guard output.status != 0 || isOfFiles else { return }
        // Compares the number of files too, because the text differs between C libraries.
        guard lists.openFiles < DescriptorLimit.most, !output.complaint.contains("Too many open files") else {
            throw DownloadError(
                .diskFailed,
                "ffmpeg has to open \(lists.openFiles) pieces of this film at once, and may open \(DescriptorLimit.most) files. What was received is kept. Raise the hard limit of open files (ulimit -n, or LimitNOFILE of a service), and resume the download."
            )
        }
        guard output.status <= 256 else {
            throw DownloadError(
                .programMissing,
                "ffmpeg was ended by signal \(output.status - 256). What was received is kept. If the memory was full, free some, and resume the download.",
                cause: String(output.complaint.suffix(500))
            )
        }
        throw DownloadError(
            .invalidStream,
            "ffmpeg could not put this film together. Another container may help. What was received is kept for one more attempt with this one; the attempt after it fetches the film again.",
            cause: String(output.complaint.suffix(500))
        )
    }

    private static func arguments(_ assembly: StreamAssembly, _ lists: FFmpegLists, _ path: String) -> [String] {
        var arguments = ["-nostdin", "-hide_banner", "-loglevel", "error", "-y", "-max_alloc", "\(1 << 30)"]
        // Makes ffmpeg print at its end how many pictures it has written. Reports in between would fill the output.
        arguments += ["-progress", "pipe:1", "-stats_period", "3600"]
        var maps: [String] = []
        let hasSeparateSound = assembly.tracks.contains { $0.description.role == .audio }
        for (index, track) in assembly.tracks.enumerated() {
            arguments += ["-protocol_whitelist", "file,subfile,concatf,fd,pipe"] + lists.inputs[index]
            switch track.description.role {
            // Leaves out other streams such as metadata, because most containers cannot hold them.
            case .main: maps += ["-map", "\(index):v?"] + (hasSeparateSound ? [] : ["-map", "\(index):a?"])
            case .audio: maps += ["-map", "\(index):a"]
            case .subtitles: maps += ["-map", "\(index):s"]
            }
        }
        // Keeps the times of the lists, which are the times in the film. A picture that is shown at 0 may be decoded
        // before 0.
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
        return arguments + ["-f", format, path]
    }
}
