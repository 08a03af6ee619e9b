/// First and last time that a segment shows, in seconds of the segment's own clock, and its streams.
package struct SegmentTimes: Sendable, Hashable {
    /// First time that is shown; `nil` if the segment does not say.
    package var start: Double?
    /// End of the last picture, or of the last sound of a segment without pictures; `nil` if the segment does not say.
    package var end: Double?
    /// Pictures and sounds, in the order in which the segment names them; `nil` if it does not say.
    package var formats: [SampleFormat]?

    /// Seconds after which the clock of a transport stream starts over: 33 bits (ISO/IEC 13818-1 §2.4.3.7).
    package static let cycle = Double(1 << 33) / 90_000

    package init(start: Double? = nil, end: Double? = nil, formats: [SampleFormat]? = nil) {
        (self.start, self.end, self.formats) = (start, end, formats)
    }

    /// Reads the times of a segment. Damaged media is no error here, because the assembly of the film checks the media
    /// later. A damaged segment has no times, except that a transport stream may have those of the part before the
    /// damage.
    ///
    /// - Parameters:
    ///   - section: the initialization section; `nil` for a segment without one.
    ///   - length: length of the segment in bytes.
    ///   - read: returns the bytes of a range of the segment.
    package init<Failure: Error>(
        section: [UInt8]?,
        length: Int64,
        _ read: (Range<Int64>) throws(Failure) -> [UInt8]
    ) throws(Failure) {
        let head = try read(0..<min(length, Self.block))
        if let section, section.first != 0x47 {
            self = try Self.fragments(section, length, read)
        } else if let start = Self.packedStart(head) {
            self.init(start: start, formats: Self.tagLength(head).map { [SampleFormat(packed: head.dropFirst($0))] })
        } else {
            self = try Self.transportStream(section, length, head, read)
        }
    }

    private static let block: Int64 = 256 << 10

    // MARK: Transport streams

    private static func transportStream<Failure: Error>(
        _ section: [UInt8]?,
        _ length: Int64,
        _ head: [UInt8],
        _ read: (Range<Int64>) throws(Failure) -> [UInt8]
    ) throws(Failure) -> SegmentTimes {
        var stream = TransportStream()
        var bytes = head
        var position = Int64(head.count)
        do throws(MediaError) {
            if let section { try stream.take(section[...]) }
            try stream.take(bytes[...])
        } catch { return SegmentTimes() }
        while position < length {
            bytes = try read(position..<min(length, position + block))
            guard !bytes.isEmpty else { break }
            position += Int64(bytes.count)
            do throws(MediaError) { try stream.take(bytes[...]) } catch { break }
        }
        var times = times(stream.streams)
        if stream.hasTables { times.formats = stream.streamsOfTables.compactMap(SampleFormat.init) }
        return times
    }

    private static func times(_ streams: [TransportStream.Stream]) -> SegmentTimes {
        let media = streams.filter { $0.kind != .other }
        let pictures = streams.filter { $0.kind == .picture && $0.times != nil }
        let ends = (pictures.isEmpty ? media : pictures).compactMap { stream -> Int64? in
            // The last packet counts with the mean duration of the others. The duration of a single packet is unknown.
            guard let times = stream.times, stream.timedPackets > 1 else { return nil }
            let steps = Int64(stream.timedPackets - 1)
            return times.upperBound + (times.upperBound - times.lowerBound) / steps
        }
        var start = media.compactMap(\.times?.lowerBound).min()
        // ffmpeg counts metadata that comes up to a second before the media as the beginning.
        let other = streams.filter { $0.kind == .other }.compactMap(\.times?.lowerBound).min()
        if let first = start, let other, other < first, first - other < 90_000 { start = other }
        return SegmentTimes(start: start.map { Double($0) / 90_000 }, end: ends.max().map { Double($0) / 90_000 })
    }

    // MARK: Fragments of MP4

    private static func fragments<Failure: Error>(
        _ section: [UInt8],
        _ length: Int64,
        _ read: (Range<Int64>) throws(Failure) -> [UInt8]
    ) throws(Failure) -> SegmentTimes {
        // Media that cannot be read has no times; see the initializer.
        guard let movie = try? FragmentedMovie(section) else { return SegmentTimes() }
        var scan = SegmentScan(source: 0, range: 0..<length)
        while let wanted = scan.wanted {
            let bytes = try read(wanted)
            do throws(MediaError) { try scan.take(bytes) } catch { return SegmentTimes() }
        }
        var starts: [Double] = []
        var ends: [(isPicture: Bool, end: Double)] = []
        for stored in scan.fragments {
            guard let fragment = try? MovieFragment(stored, of: movie) else { return SegmentTimes() }
            for part in fragment.tracks where part.runs.contains(where: { $0.count > 0 }) {
                let track = movie.tracks[part.track]
                guard let time = part.decodeTime else { return SegmentTimes() }
                let edits = track.simpleEdits ?? (0, 0)
                let empty = Double(edits.empty) / Double(movie.timescale)
                func shown(_ offset: Int64) -> Double {
                    max(0, Double(time + offset - edits.mediaTime) / Double(track.timescale)) + empty
                }
                starts.append(shown(part.earliest))
                ends.append((track.handler == "vide", shown(part.latest)))
            }
        }
        let hasPictures = ends.contains { $0.isPicture }
        return SegmentTimes(
            start: starts.min(),
            end: ends.filter { $0.isPicture == hasPictures }.map(\.end).max(),
            formats: movie.tracks.compactMap(SampleFormat.init)
        )
    }

    // MARK: Packed sound

    /// Returns the time in the ID3 tag of packed sound (RFC 8216 §3.4); `nil` for a segment without one.
    private static func packedStart(_ bytes: [UInt8]) -> Double? {
        guard bytes.starts(with: Array("ID3".utf8)) else { return nil }
        let name = Array("com.apple.streaming.transportStreamTimestamp".utf8) + [0]
        // The tag stands at the beginning, and the owner's name occurs nowhere else.
        let front = bytes.prefix(1024)
        let place = front.indices.first { front[$0...].starts(with: name) }
        guard let place, place + name.count + 8 <= bytes.count else { return nil }
        let ticks = bytes[(place + name.count)..<(place + name.count + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Double(ticks & (1 << 33 - 1)) / 90_000
    }

    /// Length of the ID3 tag at the beginning; `nil` if fewer than 4 bytes follow the tag.
    private static func tagLength(_ bytes: [UInt8]) -> Int? {
        guard bytes.count > 10 else { return nil }
        let length = 10 + bytes[6..<10].reduce(0) { $0 << 7 | Int($1 & 0x7f) } + (bytes[5] & 0x10 != 0 ? 10 : 0)
        return length + 4 <= bytes.count ? length : nil
    }
}
