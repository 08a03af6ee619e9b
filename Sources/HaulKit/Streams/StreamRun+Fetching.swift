internal import Crypto
internal import Foundation
internal import NIOCore

/// Requests of an attempt: segments, keys and initialization sections.
extension StreamRun {
    func fetch(_ item: SegmentQueue.Item) async -> Result<StreamSegmentEnd, SegmentFailure> {
        guard let log else { return .failure(SegmentFailure(TransportError(.connectionLost), host: "")) }
        // Waits before the next request for a segment that has just failed.
        if item.attempts > 0 {
            await terms.pause(max(item.retryAfter ?? .zero, .milliseconds(250 << item.attempts)))
            if Task.isCancelled { return .failure(Self.cancelled) }
        }
        let (track, segment) = (UInt8(clamping: item.track), item.segment)
        var section: Int?
        if let map = segment.map {
            section = tracks[item.track].number(of: map)
            if case .failure(let failure) = await ensure(map, section ?? 0, of: item.track) { return .failure(failure) }
        }
        var cipher: SegmentFetch.Cipher?
        var filmKey: FilmKey?
        if let key = segment.key {
            switch await self.key(key.url) {
            case .failure(let failure): return .failure(failure)
            case .success(let found):
                cipher = .init(key: found.key, vector: key.initializationVector(segment.number))
                filmKey = found
            }
        }
        let (attempt, appender) = (log.nextAttempt(), log.appender)
        let range = segment.range
        let files = isLive ? nil : files
        let fetch = SegmentFetch(
            range: range,
            mostBytes: terms.progress.counts.mostSegmentBytes,
            cipher: cipher,
            watch: SegmentMedia.Watch(hasSection: segment.map != nil, seconds: segment.duration),
            files: files
        ) { piece in
            appender.append(
                StreamRecord(
                    .bytes,
                    track: track,
                    number: segment.number,
                    attempt: attempt,
                    length: UInt32(clamping: piece.bytes)
                ),
                piece.buffers
            )
        }
        switch await fetch.fetch(requests.request(segment.url, range), over: requests.readers) {
        case .failure(let failure):
            if failure.isOfBytes, let filmKey, let url = segment.key?.url { doubt(filmKey, at: url) }
            return .failure(failure)
        case .success(let length):
            var end = StreamSegmentEnd(
                section: section,
                discontinuity: segment.discontinuityNumber,
                seconds: segment.duration,
                length: length,
                identity: SegmentIdentity(segment).digest
            )
            (end.key, end.file, end.isFramed) = (filmKey?.digest ?? 0, fetch.file, fetch.isFramed)
            end.programs = fetch.programs
            if range != nil { renewKept(at: segment.url, unless: end.file) }
            // Compares the key only after a segment was decrypted with it. A wrong key, for example a page of 16
            // octets, says nothing about earlier segments.
            if let url = segment.key?.url { renewKept(at: url, unless: end.key) }
            let record = StreamRecord.whole(.end, track: track, number: segment.number, attempt: attempt, end.bytes)
            // Waits until the segment is written before the lane takes the next one, so that a killed process loses at
            // most one segment of each lane. A receiver that stopped ends the attempt: see `next`.
            try? await appender.write(record).get()
            return .success(end)
        }
    }

    /// Returns the key at a URL. All segments share one request for the key.
    func key(_ url: HTTPURL) async -> Result<FilmKey, SegmentFailure> {
        guard keys.contains(url) || !Task.isCancelled else { return .failure(Self.cancelled) }
        let request = keys.request(url) { Task { [requests] in await Self.fetchKey(url, requests) } }
        let result = await request.value
        // Forgets a failed request that may succeed later, so that the next segment asks for the key again.
        switch result {
        case .failure(let failure): if mayComeLater(failure) { keys.forget(url, request) }
        case .success(let found): knownKeys[url] = found
        }
        return result
    }

    /// Forgets a key that did not fit, so that the next segment requests it again. The server of a live stream may
    /// change the key behind a URL.
    private func doubt(_ key: FilmKey, at url: HTTPURL) {
        guard isLive, knownKeys[url]?.digest == key.digest else { return }
        knownKeys[url] = nil
        keys.forget(url)
    }

    private static func fetchKey(_ url: HTTPURL, _ requests: StreamRequests) async -> Result<
        FilmKey, SegmentFailure
    > {
        do throws(SegmentFailure) {
            let bytes = try await requests.body(url, mostBytes: 64 << 10, what: "The key of this stream").bytes
            guard bytes.count == SegmentKey.octets else {
                let error = DownloadError(
                    .invalidStream,
                    "The key of this stream has \(bytes.count) bytes instead of \(SegmentKey.octets): it may be a page for signing in."
                )
                throw SegmentFailure(error, isWorthRetrying: false)
            }
            return .success(
                FilmKey(key: SymmetricKey(data: bytes), digest: StreamSegmentEnd.digest(SHA256.hash(data: bytes)))
            )
        } catch { return .failure(error) }
    }

    private static let cancelled = SegmentFailure(TransportError(.connectionLost, "cancelled"), host: "the server")

    /// Whether a key or an initialization section whose request failed is requested again in this attempt.
    private func mayComeLater(_ failure: SegmentFailure) -> Bool {
        failure.decision.isWorthRetrying || isLive
    }

    /// Appends an initialization section to the log unless it is there.
    private func ensure(_ map: InitializationSection, _ number: Int, of track: Int) async -> Result<
        Void, SegmentFailure
    > {
        let isKept = !kept.renewedTracks.contains(track)
        if isKept, log?.earlier(of: track)?.sections[number] != nil { return .success(()) }
        let key = SectionKey(track: track, number: number)
        guard sections.contains(key) || !Task.isCancelled else { return .failure(Self.cancelled) }
        let request = sections.request(key) { Task { await self.fetch(map, number, of: track) } }
        let result = await request.value
        if case .failure(let failure) = result, mayComeLater(failure) { sections.forget(key, request) }
        return result
    }

    private func fetch(_ map: InitializationSection, _ number: Int, of track: Int) async -> Result<
        Void, SegmentFailure
    > {
        do throws(SegmentFailure) {
            let what = "A part of this stream"
            let answer = try await requests.body(map.url, map.range, mostBytes: 8 << 20, what: what)
            if map.range != nil, !isLive, let failure = files.take(answer.head) { throw failure }
            var bytes = answer.bytes
            if let key = map.key {
                switch await self.key(key.url) {
                case .failure(let failure): throw failure
                case .success(let found):
                    bytes = try SegmentFetch.decrypted(bytes, .init(key: found.key, vector: key.statedVector ?? []))
                }
            }
            do throws(SegmentMedia.Refusal) {
                _ = try SegmentMedia.judge(bytes, length: Int64(bytes.count), as: .initialization)
            } catch {
                let failure = DownloadError(.incompleteStream, "The beginning of the film is no media: \(error).")
                throw SegmentFailure(failure, isWorthRetrying: true)
            }
            let record = StreamRecord.whole(.section, track: UInt8(clamping: track), number: Int64(number), bytes)
            // A receiver that stopped ends the attempt: see `next`.
            try? await log?.appender.append(record).get()
            return .success(())
        } catch { return .failure(error) }
    }
}
