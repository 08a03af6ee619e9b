internal import Foundation

/// Lists of the log's ranges, which ffmpeg reads as if each part were a file, with the times of the parts in the film.
///
/// All lists are in one file in memory, so that any number of parts takes only one descriptor. The lists name the log
/// by its descriptor, because ffmpeg would read quotes and line breaks of the log's path as syntax of the list.
final class FFmpegLists: Sendable {
    /// The arguments with which ffmpeg reads each track.
    let inputs: [[String]]
    /// Number of files that ffmpeg has open at once to read the parts, each range as a file of its own.
    let openFiles: Int
    private let text: MemoryText
    private let log: PosixFile

    init(_ assembly: StreamAssembly, _ timeline: StreamTimeline) throws(DownloadError) {
        do throws(DiskError) {
            // A file of another kind is opened again by its path.
            if let file = assembly.part.file as? PosixFile {
                log = file
            } else {
                log = try PosixFile.reading(assembly.part.path)
            }
            text = try MemoryText()
        } catch { throw DownloadError(error) }
        var lists = Lists(text: text)
        let path = OpenFilePath.of(log.descriptor)
        var inputs: [[String]] = []
        for (track, begins) in zip(assembly.tracks, timeline.begins) {
            if track.description.role == .subtitles {
                inputs.append([
                    "-f", "webvtt", "-i", try lists.add(try WebVTT.text(track, of: assembly, on: timeline)),
                ])
                continue
            }
            let parts = try track.parts.map { part throws(DownloadError) in
                let ranges = part.ranges.map { Self.range($0, of: path) + "\n" }
                return "concatf:" + (try lists.add(ranges.joined()))
            }
            // ffmpeg lets the first part begin at 0 and each other part where the part before it ended. The durations
            // and `-itsoffset` move the parts to their times in the film.
            var entries = "ffconcat version 1.0\n"
            for (number, part) in parts.enumerated() {
                entries += "file '\(part)'\n"
                guard number + 1 < parts.count else { continue }
                entries += "duration \(Self.text(max(0, begins[number + 1] - begins[number])))\n"
            }
            inputs.append(
                Self.probing + [
                    "-itsoffset", Self.text(begins.first ?? 0), "-f", "concat", "-safe", "0", "-i",
                    try lists.add(entries),
                ]
            )
        }
        self.inputs = inputs
        // One part of each track is open at a time.
        openFiles = assembly.tracks.reduce(0) { $0 + ($1.parts.map(\.ranges.count).max() ?? 0) }
    }

    /// How far ffmpeg looks for the first bytes of each track, in microseconds and bytes. Sound may begin long after
    /// the pictures.
    private static let probing = ["-analyzeduration", "60000000", "-probesize", "50000000"]

    /// Appends lists to one file.
    private struct Lists {
        let text: MemoryText
        private var end: Int64 = 0

        init(text: MemoryText) { self.text = text }

        /// - Returns: the name by which ffmpeg reads the list.
        mutating func add(_ list: String) throws(DownloadError) -> String {
            let start = end
            do throws(DiskError) { try text.append(Array(list.utf8)) } catch { throw DownloadError(error) }
            end += Int64(list.utf8.count)
            return FFmpegLists.range(start..<end, of: text.path)
        }
    }

    private static func range(_ range: Range<Int64>, of path: String) -> String {
        "subfile,,start,\(range.lowerBound),end,\(range.upperBound),,:\(path)"
    }

    private static func text(_ seconds: Double) -> String { String(format: "%.6f", seconds) }
}
