internal import Crypto
internal import Foundation
internal import NIOCore
internal import Synchronization

/// Compares a mirror, or a URL that replaced the earlier one, with the log of a film that came from another source.
/// Names and numbers of segments do not show that both have the same film, so whole segments are compared.
extension StreamRun {
    /// Most segments that are compared: of the main track, and of each other track.
    private static let mostOfMain = 4
    private static let mostOfOthers = 2

    /// Whether a source has the film of a log: it lists the same segments, and the compared segments have the same
    /// bytes.
    ///
    /// A segment that the source does not send is not compared. At least one segment of each track that shares
    /// segments has to be compared.
    func hasFilm(_ known: StreamFilm, of log: StreamLog, _ source: StreamSource) async throws(SegmentFailure) -> Bool {
        guard !known.isLive, !source.isLive, known.tracks == source.tracks.map(\.description) else { return false }
        for (index, track) in source.tracks.enumerated() {
            guard let there = log.tracks[UInt8(clamping: index)] else { continue }
            guard let shared = track.segments(sharedWith: there, listed: known.segments?[index]) else { return false }
            var compared = 0
            for segment in Self.spread(shared, index == 0 ? Self.mostOfMain : Self.mostOfOthers) {
                guard let own = there.segments[segment.number], let isSame = try await has(segment, as: own) else {
                    continue
                }
                guard isSame else { return false }
                compared += 1
            }
            guard compared > 0 || shared.isEmpty else { return false }
        }
        return log.tracks.values.contains { $0.segments.values.contains { !$0.isGap } }
    }

    /// Returns up to `count` of the segments, spread evenly over the film.
    ///
    /// - Parameter count: at least 2.
    static func spread(_ segments: [MediaSegment], _ count: Int) -> [MediaSegment] {
        guard segments.count > count else { return segments }
        return (0..<count).map { segments[$0 * (segments.count - 1) / (count - 1)] }
    }

    /// Whether the source has the bytes that the log has of a segment; `nil` if the source does not send it.
    private func has(_ segment: MediaSegment, as own: StreamLog.Segment) async throws(SegmentFailure) -> Bool? {
        guard !Task.isCancelled, let part = terms.log else { return nil }
        var cipher: SegmentFetch.Cipher?
        if let key = segment.key {
            guard case .success(let found) = await self.key(key.url) else { return nil }
            cipher = .init(key: found.key, vector: key.initializationVector(segment.number))
        }
        let digest = Mutex(SHA256())
        let loop = loop
        // An encrypted segment is longer by its padding.
        let mostBytes = own.end.length + Int64(SegmentKey.octets)
        let fetch = SegmentFetch(range: segment.range, mostBytes: mostBytes, cipher: cipher, watch: nil) { piece in
            digest.withLock { digest in
                for buffer in piece.buffers { buffer.withUnsafeReadableBytes { digest.update(bufferPointer: $0) } }
            }
            return loop.makeSucceededVoidFuture()
        }
        let request = requests.request(segment.url, segment.range)
        switch await fetch.fetch(request, over: requests.readers) {
        case .success(let length): guard length == own.end.length else { return false }
        case .failure(let failure): return failure.isTooLong ? false : nil
        }
        let found = digest.withLock { $0.finalize() }
        do throws(DiskError) { return try await Self.digest(of: own.ranges, part) == found } catch {
            throw SegmentFailure(DownloadError(error), isWorthRetrying: false)
        }
    }

    private static func digest(of ranges: [Range<Int64>], _ part: PartFile) async throws(DiskError) -> SHA256.Digest {
        var digest = SHA256()
        for range in ranges {
            var position = range.lowerBound
            while position < range.upperBound {
                let count = min(range.upperBound - position, Self.window)
                digest.update(data: try await part.read(at: position, count: Int(count)))
                position += count
            }
        }
        return digest.finalize()
    }

    private static let window: Int64 = 1 << 20

    /// The failure of a mirror that does not have the film of the log.
    func otherFilm(than known: StreamFilm, _ log: StreamLog) -> SegmentFailure {
        let host = requests.first.url.host ?? "the mirror"
        let text: String
        if let listed = known.segments?.reduce(0, +) {
            let missing = max(1, listed - log.tracks.values.reduce(0) { $0 + $1.segments.values.count { !$0.isGap } })
            let what = missing == 1 ? "1 segment of \(listed) is" : "\(missing) segments of \(listed) are"
            text = "\(what) missing, and \(host) has another film: its list or its bytes differ."
        } else {
            text = "A recording does not go on from \(host), because nothing shows that it has the same stream."
        }
        let error = DownloadError(.incompleteStream, text + " Everything that was received is kept.")
        return SegmentFailure(error, isWorthRetrying: false)
    }
}

extension StreamSource.Track {
    /// Returns the listed segments that a log has; `nil` if the list is of another film: other numbers, durations,
    /// discontinuities or initialization sections.
    ///
    /// - Parameter listed: number of segments that the film of the log has on this track; `nil` if it is unknown.
    fileprivate func segments(sharedWith log: StreamLog.Track, listed: Int?) -> [MediaSegment]? {
        let segments = playlist.segments.filter { !$0.isGap }
        guard segments.count == listed ?? segments.count else { return nil }
        var sections = FilmTrack(self)
        var shared: [MediaSegment] = []
        for segment in segments {
            sections.note(segment.map)
            guard let own = log.segments[segment.number], !own.isGap else { continue }
            guard own.end.seconds == segment.duration, own.end.discontinuity == segment.discontinuityNumber,
                own.end.section == segment.map.flatMap({ sections.number(of: $0) })
            else { return nil }
            shared.append(segment)
        }
        return shared.count == log.segments.values.count { !$0.isGap } ? shared : nil
    }
}
