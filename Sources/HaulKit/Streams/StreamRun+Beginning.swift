internal import Foundation

/// The beginning of an attempt: compares the film with the log of earlier attempts, and queues the segments that the
/// log lacks.
extension StreamRun {
    /// Compares the film with the log of earlier attempts. Returns the log that this attempt continues or begins.
    func begin(_ request: TransportRequest, _ source: StreamSource) async throws(SegmentFailure) -> FilmLog {
        guard source.tracks.count <= Self.mostTracks else {
            let error = StreamError.unsupported(
                "\(source.tracks.count) tracks were chosen, and one file takes at most \(Self.mostTracks)"
            )
            throw SegmentFailure(DownloadError(error), isWorthRetrying: false)
        }
        let container = try source.container(terms.options, ffmpeg: terms.ffmpeg())
        var film = StreamFilm(
            tracks: source.tracks.map(\.description),
            version: try source.version(),
            isLive: source.isLive,
            container: container,
            allowsGaps: terms.options.allowsGaps || source.isLive,
            segments: source.isLive ? nil : source.tracks.map { $0.playlist.segments.count { !$0.isGap } }
        )
        var earlier = StreamLog()
        var completion: StreamLogReader.Completion?
        if let (found, known) = try await self.earlier(request), try await isSame(known, film, found.log, source) {
            // Keeps the present `allowsGaps`, because the user may by now allow the gaps that an earlier run found.
            let allowsGaps = film.allowsGaps || known.isLive
            (earlier, film, completion) = (found.log, known, found.completion)
            film.allowsGaps = allowsGaps
        }
        let answer = head(film, source.head, request, continuing: completion != nil)
        let appender = StreamAppender(answer, front: try front(film, completion), to: receiver, on: loop)
        return FilmLog(film, behind: earlier, appender)
    }

    /// Returns the log that a request continues, and its film; `nil` if there is none.
    func earlier(_ request: TransportRequest) async throws(SegmentFailure) -> (StreamLogReader.Result, StreamFilm)? {
        guard request.firstByte > 0, let part = terms.log else { return nil }
        let found: StreamLogReader.Result?
        do throws(DiskError) { found = try await StreamLogReader.read(request.firstByte, of: part) } catch {
            throw SegmentFailure(DownloadError(error), isWorthRetrying: false)
        }
        guard let found, let known = found.log.film, request.conditionField?.value == known.entityTag else {
            return nil
        }
        return (found, known)
    }

    /// Queues the segments that the log lacks, and counts the segments that the log has.
    func list(_ source: StreamSource, _ log: FilmLog) throws(SegmentFailure) {
        var counts = StreamProgress.Counts(isLive: source.isLive)
        for (index, track) in source.tracks.enumerated() { try add(track, index, log, &counts) }
        terms.progress.set(counts)
        for (index, track) in source.tracks.enumerated() where tracks[index].isLive {
            try take(track.playlist, index, log.earlier(of: index))
        }
        queue.sort()
    }

    /// A record of the log has one byte for the number of its track.
    private static let mostTracks = 256

    /// Whether the log belongs to the film that the source lists. Does not compare versions if the log is of a live
    /// film, because a live playlist lists other segments each time.
    ///
    /// - Throws: the failure of a mirror that has another film. The log stays as it is.
    private func isSame(_ known: StreamFilm, _ film: StreamFilm, _ log: StreamLog, _ source: StreamSource)
        async throws(SegmentFailure) -> Bool
    {
        if terms.source == .same {
            return known.tracks == film.tracks && (known.isLive || known.version == film.version)
        }
        if try await hasFilm(known, of: log, source) { return true }
        guard terms.source != .mirror else { throw otherFilm(than: known, log) }
        return false
    }

    func head(
        _ film: StreamFilm,
        _ answer: ResponseHead,
        _ request: TransportRequest,
        continuing: Bool
    ) -> ResponseHead {
        let name = StreamName.choose(
            contentDisposition: answer.headers.first(name: "Content-Disposition"),
            suggested: terms.suggestedName,
            urls: [answer.requested, answer.url],
            ending: film.container.ending
        )
        let escaped = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? name
        var fields = [("ETag", film.entityTag), ("Content-Disposition", "attachment; filename*=UTF-8''\(escaped)")]
        // The body counts as framed, because this reader reports its end, as the last chunk of a chunked body does.
        fields.append(("Transfer-Encoding", "chunked"))
        if continuing { fields.append(("Content-Range", "bytes \(request.firstByte)-\(Int64.max - 1)/*")) }
        var head = answer
        head.status = continuing ? 206 : 200
        // Hides the redirects of a playlist, because they may lead to another server each time. The list of segments
        // shows the version.
        head.url = head.requested
        head.headers = HeaderFields(fields)
        head.isStreamLog = true
        return head
    }

    func front(_ film: StreamFilm, _ completion: StreamLogReader.Completion?) throws(SegmentFailure) -> [UInt8] {
        if let completion { return completion.head + [UInt8](repeating: 0, count: Int(completion.zeros)) }
        do { return StreamRecord.whole(.film, try film.json()) } catch {
            throw SegmentFailure(
                DownloadError(.internalFault, "The film cannot be described: \(error)"),
                isWorthRetrying: false
            )
        }
    }

    private func add(
        _ source: StreamSource.Track,
        _ index: Int,
        _ log: FilmLog,
        _ counts: inout StreamProgress.Counts
    ) throws(SegmentFailure) {
        let earlier = log.earlier(of: index)
        guard source.playlist.isEnded, !log.film.isLive else {
            tracks.append(FilmTrack(source, try plan(source, earlier, index), behind: earlier))
            return
        }
        var track = FilmTrack(source)
        var seconds = 0.0
        for segment in source.playlist.segments {
            if segment.isGap {
                missing.add(StreamGap(declared: segment, track: source.track), of: index)
            } else {
                // Sections of gaps have no number, because the version does not depend on them.
                track.note(segment.map)
                counts.segments += 1
                if index == 0 { counts.seconds += segment.duration }
                let item = SegmentQueue.Item(track: index, segment: segment, start: seconds)
                if let there = earlier?.segments[segment.number], !there.isGap {
                    // Looks for a changed key or tag only at the same source. Another source has other tags even for
                    // the same file, and `hasFilm(_:of:_:)` has compared its bytes.
                    if terms.source == .same { kept.add(item, there.end) }
                    counts.receivedSegments += 1
                    counts.receivedBytes += there.end.length
                    if index == 0 { counts.receivedSeconds += segment.duration }
                } else {
                    queue.append(item)
                }
            }
            seconds += segment.duration
        }
        tracks.append(track)
    }

    /// Returns the plan of a live track. The plan continues after the segments that an earlier run recorded.
    private func plan(_ source: StreamSource.Track, _ known: StreamLog.Track?, _ index: Int) throws(SegmentFailure)
        -> LivePlan
    {
        var earlier = 0.0
        var isOver = false
        if let known {
            do throws(StreamError) {
                if let missed = try known.missed(before: source.playlist, source.track) {
                    missing.add(missed, of: index)
                }
            } catch {
                guard mayEnd(with: known) else { throw SegmentFailure(DownloadError(error), isWorthRetrying: false) }
                endRecording(error.message)
                isOver = true
            }
            let first = source.playlist.segments.first?.number ?? .max
            earlier = known.segments.reduce(0) { $0 + ($1.key < first ? $1.value.end.seconds : 0) }
        }
        let isResumed = known?.segments.isEmpty == false
        let beginning: LivePlan.Beginning =
            switch terms.options.liveStart {
            case .start?: .start
            case .now?: isResumed ? .start : .now
            case nil: isResumed || source.playlist.kind == .event ? .start : .now
            }
        let limit = terms.options.liveSeconds.map { max(0, $0 - earlier) }
        do throws(StreamError) {
            var plan = LivePlan(track: source.track, from: beginning, limit: limit)
            if isOver { _ = try plan.handle(.stop) }
            return plan
        } catch { throw SegmentFailure(DownloadError(error), isWorthRetrying: false) }
    }
}

extension StreamLog.Track {
    /// Returns the segments between the end of the log and the beginning of a live playlist as a gap; `nil` if there
    /// are none. The server removed these segments from the playlist before an attempt recorded them.
    ///
    /// - Throws: ``StreamError`` if the playlist does not continue the log: the playlist has another segment under a
    ///   number of the log, or the playlist ends before the end of the log and shares no segment with the log.
    fileprivate func missed(before playlist: MediaPlaylist, _ track: StreamTrack) throws(StreamError) -> StreamGap? {
        guard let last = segments.keys.max(), let first = playlist.segments.first, let end = playlist.segments.last
        else {
            return nil
        }
        var isKnown = false
        for segment in playlist.segments {
            guard let there = segments[segment.number] else { continue }
            isKnown = true
            guard there.isGap || there.end.identity == SegmentIdentity(segment).digest else {
                throw .contradiction(number: segment.number)
            }
        }
        if end.number < last, !isKnown { throw .wentBack(to: end.number) }
        guard first.number > last, first.number - last > 1 else { return nil }
        let average = playlist.seconds / Double(playlist.segments.count)
        let numbers: ClosedRange<Int64> = (last + 1)...(first.number - 1)
        let seconds = average * Double(first.number - last - 1)
        return StreamGap(track: track, numbers: numbers, seconds: seconds, reason: .missed)
    }
}
