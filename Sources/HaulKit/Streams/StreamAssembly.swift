internal import Foundation
internal import NIOCore

/// Puts a film together from its log.
struct StreamAssembly: Sendable {
    /// Segments of a track in their order, with the same parameters.
    struct Part: Sendable {
        let discontinuity: Int64
        /// Range of the initialization section in the log.
        let section: Range<Int64>?
        /// Whether the part begins where the program tables change, without a seam in the playlist.
        let isUnannounced: Bool
        /// The streams that the program tables of the part name; empty if they are unknown.
        var streams: [SegmentPrograms.Stream] = []
        /// Ranges of the log. Each element is a segment, or the part of a segment between two changes of its tables.
        var segments: [[Range<Int64>]] = []
        /// Duration in seconds, from the playlist.
        var seconds = 0.0

        /// All ranges, those of the initialization section first.
        var ranges: [Range<Int64>] { (section.map { [$0] } ?? []) + segments.flatMap(\.self) }
    }

    struct Track: Sendable {
        let description: StreamFilm.Track
        var parts: [Part] = []
        var seconds = 0.0
    }

    let film: StreamFilm
    let tracks: [Track]
    let shape: FilmShape
    let part: PartFile
    /// Sum of the lengths of all segments in bytes; the finished file has about this length.
    let length: Int64
    /// Number of pictures, counted from the first one that a player can begin with; `nil` if unknown.
    let pictures: Int?
    /// Lines about the gaps of the film, from ``GapLines``.
    let gaps: [String]
    /// Whether a length or a last chunk proves that every segment is whole.
    let isFramed: Bool

    /// - Parameters:
    ///   - part: the file of the log.
    ///   - wanted: the container of the present request. The log states the container of its first request.
    /// - Returns: `nil` for a log without a film, and for one that does not account for each segment of the film.
    /// - Throws: ``DownloadError``: ``DownloadError/Code/incompleteStream`` for a log without a segment,
    ///   ``DownloadError/Code/invalidStream`` for a container that cannot have the tracks.
    init?(_ log: StreamLog, of part: PartFile, as wanted: DownloadRequest.Stream.Container = .automatic)
        throws(DownloadError)
    {
        guard var film = log.film else { return nil }
        self.part = part
        var tracks: [Track] = []
        var length: Int64 = 0
        var gaps = GapLines()
        for (index, description) in film.tracks.enumerated() {
            var track = Track(description: description)
            let there = log.tracks[UInt8(clamping: index)] ?? StreamLog.Track()
            for (number, segment) in there.segments.sorted(by: { $0.key < $1.key }) where segment.isGap {
                gaps.append(number, seconds: segment.end.seconds, reason: segment.end.reason ?? "")
            }
            for (_, segment) in there.segments.sorted(by: { $0.key < $1.key }) where !segment.isGap {
                let section = segment.end.section.flatMap { there.sections[$0] }
                guard segment.end.section == nil || section != nil else { return nil }
                track.append(segment, section)
                length += segment.end.length
            }
            guard !track.parts.isEmpty else {
                throw DownloadError(
                    .incompleteStream,
                    "The stream has ended, and not one of its segments could be had."
                )
            }
            if let listed = film.segments {
                guard listed.indices.contains(index), there.accounted >= listed[index] else { return nil }
            }
            tracks.append(track)
        }
        shape = FilmShape(
            trackCount: tracks.count,
            isFragmented: tracks.allSatisfy { track in
                track.description.role == .subtitles || track.parts.contains { $0.section != nil }
            },
            hasSubtitles: tracks.contains { $0.description.role == .subtitles },
            hasSeams: tracks.contains { $0.parts.count > 1 }
        )
        film.container = try shape.container(wanted) ?? film.container
        self.film = film
        self.tracks = tracks
        self.length = length
        isFramed = log.tracks.values.allSatisfy { $0.segments.values.allSatisfy(\.end.isFramed) }
        pictures = log.tracks[0].flatMap(\.pictures)
        self.gaps = gaps.lines
    }

    /// Whether ffmpeg puts the film together. A live stream may get seams after its container was chosen.
    private var needsProgram: Bool { film.container.isByProgram || shape.hasSeams }

    /// Writes and syncs the film.
    ///
    /// - Parameters:
    ///   - path: where the film is written; a file there is replaced.
    ///   - flag: ends the work.
    /// - Returns: `nil` if `flag` was set.
    func write(
        to path: String,
        _ services: EngineServices,
        unless flag: CancelFlag,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(DownloadError) -> (any DiskFile)? {
        let disk = services.disk
        if needsProgram {
            guard let file = try await FFmpeg.write(self, to: path, services, unless: flag) else { return nil }
            try await services.onDisk { () throws(DiskError) in try file.sync() }
            return file
        }
        return try await services.runBlocking { () throws(DownloadError) in
            let file = try write(to: path, on: disk, unless: flag)
            do throws(DiskError) { try file?.sync() } catch { throw DownloadError(error) }
            return file
        }
    }

    private func write(to path: String, on disk: any Disk, unless flag: CancelFlag) throws(DownloadError)
        -> (any DiskFile)?
    {
        let file: any DiskFile
        do throws(DiskError) { file = try disk.createAnew(path) } catch { throw DownloadError(error) }
        var writer = Writer(file, log: part.file, flag)
        do throws(MediaError) {
            if film.container == .mp4 {
                try merge(into: &writer)
            } else {
                for range in tracks.flatMap({ $0.parts.flatMap(\.ranges) }) { writer.copy(range) }
            }
        } catch {
            // A failed read looks like invalid media too. In this case `finish()` throws the error of the disk.
            guard writer.isOver else {
                throw DownloadError(.invalidStream, "The segments of this stream cannot be one file. \(error.sentence)")
            }
        }
        do throws(DiskError) { return try writer.finish() ? file : nil } catch { throw DownloadError(error) }
    }

    // MARK: Fragments of MP4

    /// Merges the tracks into one fragmented MP4.
    private func merge(into writer: inout Writer) throws(MediaError) {
        var renditions: [MovieMerge.Rendition] = []
        let hasSeparateSound = tracks.contains { $0.description.role == .audio }
        for track in tracks {
            guard let section = track.parts.first?.section else { throw .missing("moov", in: "initialization section") }
            renditions.append(
                MovieMerge.Rendition(
                    try FragmentedMovie(writer.read(section)),
                    language: track.description.role == .audio ? track.description.language : nil,
                    leavesOutSound: hasSeparateSound && track.description.role == .main
                )
            )
        }
        let segments = tracks.map { $0.parts.flatMap(\.segments) }
        var merge = try MovieMerge(renditions, fragments: segments.map(\.count).max() ?? 0)
        var positions = [Int](repeating: 0, count: tracks.count)
        // The ranges of each segment taken so far. The merge names a segment by its index here.
        var sources: [[Range<Int64>]] = []
        while let wanted = merge.wanted, !writer.isOver {
            guard positions[wanted] < segments[wanted].count else {
                try merge.end(wanted)
                continue
            }
            let ranges = segments[wanted][positions[wanted]]
            positions[wanted] += 1
            let length = ranges.reduce(0) { $0 + Int64($1.count) }
            var scan = SegmentScan(source: sources.count, range: 0..<length)
            while let range = scan.wanted {
                try scan.take(ranges.parts(range).flatMap { writer.read($0) })
                if writer.isOver { return }
            }
            sources.append(ranges)
            try merge.take(scan.fragments, of: wanted)
            write(merge.output(), sources, &writer)
        }
        guard !writer.isOver else { return }
        let end = try merge.finish()
        write(end.pieces, sources, &writer)
        for patch in end.patches { writer.patch(patch) }
    }

    private func write(_ pieces: [OutputPiece], _ sources: [[Range<Int64>]], _ writer: inout Writer) {
        for piece in pieces {
            switch piece {
            case .bytes(let bytes): writer.append(bytes)
            case .copy(let source, let range): for part in sources[source].parts(range) { writer.copy(part) }
            }
        }
    }
}

extension [Range<Int64>] {
    /// Returns the ranges of the log that hold the bytes `wanted` of a segment, counted from the segment's start. This
    /// array lists all ranges of the segment in order.
    func parts(_ wanted: Range<Int64>) -> [Range<Int64>] {
        var (parts, start) = ([Range<Int64>](), Int64(0))
        for range in self {
            let lower = Swift.max(wanted.lowerBound - start, 0)
            let upper = Swift.min(wanted.upperBound - start, Int64(range.count))
            if lower < upper { parts.append(range.lowerBound + lower..<range.lowerBound + upper) }
            start += Int64(range.count)
        }
        return parts
    }
}

extension StreamAssembly {
    /// Writes the film in blocks. Keeps the first failure, and reads and writes nothing more after it.
    private struct Writer {
        private let file: any DiskFile
        private let log: any DiskFile
        private let flag: CancelFlag
        private var buffer = ByteBuffer()
        private var offset: Int64 = 0
        private var failure: DiskError?
        private var patches: [OutputPatch] = []

        private static let block = 1 << 20

        init(_ file: any DiskFile, log: any DiskFile, _ flag: CancelFlag) {
            (self.file, self.log, self.flag) = (file, log, flag)
        }

        /// Whether nothing is written any more.
        var isOver: Bool { failure != nil || flag.isSet }

        mutating func append(_ bytes: [UInt8]) {
            guard !isOver else { return }
            buffer.writeBytes(bytes)
            if buffer.readableBytes >= Self.block { flush() }
        }

        /// Copies a range of the log.
        mutating func copy(_ range: Range<Int64>) {
            guard range.count >= Self.leastCopied else { return append(read(range)) }
            flush()
            var position = range.lowerBound
            while position < range.upperBound, !isOver {
                let end = min(range.upperBound, position + Self.mostCopied)
                do throws(DiskError) { try file.copy(position..<end, of: log, to: offset) } catch { failure = error }
                offset += end - position
                position = end
            }
        }

        /// Least length of a copy, because each copy is a system call. Shorter ranges gather in memory.
        private static let leastCopied = 32 << 10
        /// Largest length of one copy, so that the work ends soon after the flag is set.
        private static let mostCopied: Int64 = 16 << 20

        mutating func read(_ range: Range<Int64>) -> [UInt8] {
            guard !isOver else { return [] }
            do throws(DiskError) {
                let bytes = try log.read(at: range.lowerBound, count: Int(range.count))
                if bytes.count == range.count { return bytes }
                failure = DiskError(.cutShort, call: "pread", path: log.path)
            } catch { failure = error }
            return []
        }

        mutating func patch(_ patch: OutputPatch) { patches.append(patch) }

        private mutating func flush() {
            guard !isOver, buffer.readableBytes > 0 else { return }
            do throws(DiskError) {
                try file.write([buffer], at: offset)
                offset += Int64(buffer.readableBytes)
                buffer.clear()
            } catch { failure = error }
        }

        /// Writes the bytes in memory and the patches.
        ///
        /// - Returns: `false` if the flag was set.
        mutating func finish() throws(DiskError) -> Bool {
            flush()
            for patch in patches where !isOver {
                do throws(DiskError) { try file.write([ByteBuffer(bytes: patch.bytes)], at: patch.position) } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
            return !flag.isSet
        }
    }
}
