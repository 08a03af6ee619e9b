/// Reads the times of a film's parts from its log.
extension StreamAssembly {
    /// Returns where the parts of the tracks stand in the finished film. Blocks while it reads.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidStream`` if a later part has another format of
    ///   pictures or sound than the first one, or another order of them. A player would decode the part with the
    ///   parameters of the first one.
    func timeline() throws(DownloadError) -> StreamTimeline {
        var tracks: [[StreamTimeline.Part]] = []
        for track in self.tracks {
            var parts: [StreamTimeline.Part] = []
            var formats: [SampleFormat]?
            for item in track.parts where track.description.role != .subtitles {
                let first = try times(item.segments.first ?? [], of: item)
                let last = item.segments.count > 1 ? try times(item.segments.last ?? [], of: item) : first
                let isSelfContained = item.section == nil && film.container.ending == "ts"
                if let known = formats, let found = first.formats,
                    !known.starts(with: found, by: { $0.fits($1, isSelfContained: isSelfContained) })
                {
                    throw DownloadError(
                        .invalidStream,
                        "The format of this stream's pictures or sound changes in the middle, which one file cannot hold. What was received is kept."
                    )
                }
                formats = formats ?? first.formats
                parts.append(
                    StreamTimeline.Part(
                        discontinuity: item.discontinuity,
                        times: SegmentTimes(start: first.start, end: last.end),
                        seconds: item.seconds,
                        isUnannounced: item.isUnannounced
                    )
                )
            }
            tracks.append(parts)
        }
        return StreamTimeline(tracks)
    }

    private func times(_ segment: [Range<Int64>], of item: Part) throws(DownloadError) -> SegmentTimes {
        do throws(DiskError) {
            let section: [UInt8]? = if let range = item.section { try read(range) } else { nil }
            let length = segment.reduce(0) { $0 + Int64($1.count) }
            return try SegmentTimes(section: section, length: length) { wanted throws(DiskError) in
                var bytes: [UInt8] = []
                for range in segment.parts(wanted) { bytes += try read(range) }
                return bytes
            }
        } catch { throw DownloadError(error) }
    }

    private func read(_ range: Range<Int64>) throws(DiskError) -> [UInt8] {
        let bytes = try part.file.read(at: range.lowerBound, count: Int(range.count))
        guard bytes.count == range.count else { throw DiskError(.cutShort, call: "pread", path: part.file.path) }
        return bytes
    }
}
