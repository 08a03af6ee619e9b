/// Divides a track into parts: at each seam of the playlist, which is a discontinuity or a change of the initialization
/// section, and where the program tables name other streams.
extension StreamAssembly.Track {
    mutating func append(_ segment: StreamLog.Segment, _ section: Range<Int64>?) {
        for piece in segment.pieces {
            let discontinuity = segment.end.discontinuity
            let isAnnounced = parts.last.map { $0.section != section || $0.discontinuity != discontinuity } ?? true
            if isAnnounced || parts.last?.streams.isContinued(by: piece.streams) == false {
                parts.append(
                    StreamAssembly.Part(
                        discontinuity: discontinuity,
                        section: section,
                        isUnannounced: !isAnnounced
                    )
                )
            }
            let last = parts.count - 1
            parts[last].segments.append(piece.ranges)
            parts[last].streams.merge(piece.streams)
            parts[last].seconds += piece.seconds
        }
        seconds += segment.end.seconds
    }
}

extension StreamLog.Segment {
    /// The part of a segment between two changes of the program tables.
    fileprivate struct Piece {
        let ranges: [Range<Int64>]
        /// Empty if the segment has no tables, and for other media than a transport stream.
        let streams: [SegmentPrograms.Stream]
        let seconds: Double
    }

    /// Returns the segment in one piece, or in several if its tables change within it.
    fileprivate var pieces: [Piece] {
        let stretches = end.programs?.stretches ?? []
        guard stretches.count > 1 else {
            return [Piece(ranges: ranges, streams: stretches.first?.streams ?? [], seconds: end.seconds)]
        }
        let ends = stretches.dropFirst().map(\.start) + [max(end.length, stretches.last?.start ?? 0)]
        return zip(stretches, ends).map { stretch, next in
            // Puts the packet with the PAT first, because ffmpeg reads no PMT before it has read the PAT.
            let tables = stretch.association..<min(stretch.association + Self.packet, stretch.start)
            return Piece(
                ranges: (tables.isEmpty ? [] : ranges.parts(tables)) + ranges.parts(stretch.start..<next),
                streams: stretch.streams,
                seconds: end.seconds * Double(next - stretch.start) / Double(max(1, end.length))
            )
        }
    }

    /// Length of a packet of transport stream.
    private static let packet = Int64(TransportStream.packetLength)
}

extension StreamLog.Track {
    /// Number of pictures, counted from the first one that a player can begin with; `nil` if unknown. ffmpeg leaves out
    /// the pictures before that one.
    var pictures: Int? {
        var (count, hasBegun) = (0, false)
        for (_, segment) in segments.sorted(by: { $0.key < $1.key }) where !segment.isGap {
            guard let programs = segment.end.programs, let pictures = programs.pictures else { return nil }
            count += pictures - (hasBegun ? 0 : programs.leadingPictures)
            hasBegun = hasBegun || programs.leadingPictures < pictures
        }
        return hasBegun ? count : nil
    }
}
