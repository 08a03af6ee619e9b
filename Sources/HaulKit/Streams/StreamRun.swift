internal import Crypto
internal import Foundation
internal import NIOCore

/// One attempt at a film: reads its playlists, fetches the segments that are missing over several connections, and
/// appends them to the log.
///
/// The order of need comes first. A segment that fails is tried again behind the others. When nothing else is left, the
/// attempt ends with the failure, and the machine decides when the next one begins.
actor StreamRun {
    /// A segment to fetch.
    private struct Item {
        let track: Int
        let segment: MediaSegment
        var attempts = 0
    }

    /// One track during the attempt.
    private struct Track {
        var source: StreamSource.Track
        /// Numbers of the initialization sections.
        var sections: [InitializationSection: Int] = [:]
        var nextSection = 0
        /// Decides about reloads; `nil` for a track that is complete.
        var live: LivePlan?
        /// Delay before the playlist is read again; `nil` when it is not.
        var reloadAfter: Duration?
    }

    private let requests: StreamRequests
    private let terms: StreamTerms
    private let receiver: any ResponseReceiver
    private let loop: any EventLoop
    private var appender: StreamAppender?
    private var log = StreamLog()
    private var film: StreamFilm?
    private var tracks: [Track] = []
    private var queue: [Item] = []
    /// Place in ``queue`` of the next item. Items before it are done with.
    private var position = 0
    private var inFlight = 0
    private var attempt: UInt32 = 0
    private var keys: [HTTPURL: Task<Result<SymmetricKey, SegmentFailure>, Never>] = [:]
    private var sections: [SectionKey: Task<SegmentFailure?, Never>] = [:]
    private var failures: [(item: Item, failure: SegmentFailure)] = []
    private var gaps: [(track: Int, gap: StreamGap)] = []
    /// Failure that ends the attempt before the other segments.
    private var fatal: SegmentFailure?
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var reloading = 0

    private struct SectionKey: Hashable {
        let track: Int
        let number: Int
    }

    init(
        _ requests: StreamRequests,
        _ terms: StreamTerms,
        _ receiver: any ResponseReceiver,
        on loop: any EventLoop
    ) {
        self.requests = requests
        self.terms = terms
        self.receiver = receiver
        self.loop = loop
    }

    /// Runs the attempt. The receiver's `ended` is the last call.
    ///
    /// - Parameters:
    ///   - request: the request of the engine, with its range and condition.
    ///   - head: answer to the request for the playlist.
    ///   - body: the playlist.
    func run(_ request: TransportRequest, _ head: ResponseHead, _ body: [UInt8]) async {
        do throws(SegmentFailure) {
            let source = try await StreamSource(head, body, terms.options, requests)
            try await begin(request, source)
            await fetchAll()
            try appendGaps()
            finish()
        } catch { refuse(error) }
    }

    // MARK: Beginning

    /// Compares the film with the log that is there, and makes the list of what is missing.
    private func begin(_ request: TransportRequest, _ source: StreamSource) async throws(SegmentFailure) {
        let container = try source.container(terms.options, ffmpeg: terms.ffmpeg())
        var film = StreamFilm(
            tracks: source.tracks.map(\.description),
            version: try source.version(),
            isLive: source.isLive,
            container: container,
            allowsGaps: terms.options.allowsGaps || source.isLive
        )
        var completion: StreamLogReader.Completion?
        if request.firstByte > 0, let read = terms.log {
            let found: StreamLogReader.Result?
            do throws(DiskError) { found = try await StreamLogReader.read(request.firstByte, with: read) } catch {
                throw SegmentFailure(DownloadError(error), isWorthRetrying: false)
            }
            if let found, let known = found.log.film, Self.isSame(known, film),
                request.conditionField?.value == known.entityTag
            {
                (log, film, completion) = (found.log, known, found.completion)
            }
        }
        self.film = film
        attempt = log.nextAttempt
        let answer = self.head(film, source, request, continuing: completion != nil)
        appender = StreamAppender(answer, front: try front(film, completion), to: receiver, on: loop)
        var counts = StreamProgress.Counts(isLive: source.isLive)
        for (index, track) in source.tracks.enumerated() { try add(track, index, &counts) }
        terms.progress.set(counts)
        queue.sort { ($0.segment.discontinuityNumber, start(of: $0)) < ($1.segment.discontinuityNumber, start(of: $1)) }
        starts = [:]
    }

    /// A film that was recorded live goes on with later lists, which begin later.
    private static func isSame(_ known: StreamFilm, _ film: StreamFilm) -> Bool {
        known.tracks == film.tracks && (known.isLive || known.version == film.version)
    }

    private func head(
        _ film: StreamFilm,
        _ source: StreamSource,
        _ request: TransportRequest,
        continuing: Bool
    ) -> ResponseHead {
        let name = StreamName.choose(
            contentDisposition: source.head.headers.first(name: "Content-Disposition"),
            urls: [source.head.requested, source.head.url],
            ending: film.container.ending
        )
        let escaped = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? name
        var fields = [("ETag", film.entityTag), ("Content-Disposition", "attachment; filename*=UTF-8''\(escaped)")]
        // The body ends where this reader says so, as a chunked one does.
        fields.append(("Transfer-Encoding", "chunked"))
        if continuing { fields.append(("Content-Range", "bytes \(request.firstByte)-\(Int64.max - 1)/*")) }
        var head = source.head
        // Playlists are often served from changing places; the entity tag alone tells whether the film is the same.
        head.url = head.requested
        head.status = continuing ? 206 : 200
        head.headers = HeaderFields(fields)
        head.isStreamLog = true
        return head
    }

    private func front(_ film: StreamFilm, _ completion: StreamLogReader.Completion?) throws(SegmentFailure) -> [UInt8]
    {
        if let completion { return completion.head + [UInt8](repeating: 0, count: Int(completion.zeros)) }
        do { return StreamRecord.whole(.film, try film.json()) } catch {
            throw SegmentFailure(
                DownloadError(.internalFault, "The film cannot be described: \(error)"),
                isWorthRetrying: false
            )
        }
    }

    /// Seconds before each item, for the order of need.
    private var starts: [StartKey: Double] = [:]
    private struct StartKey: Hashable {
        let track: Int
        let number: Int64
    }
    private func start(of item: Item) -> Double { starts[.init(track: item.track, number: item.segment.number)] ?? 0 }

    private func add(_ source: StreamSource.Track, _ index: Int, _ counts: inout StreamProgress.Counts)
        throws(SegmentFailure)
    {
        var track = Track(source: source)
        let known = log.tracks[UInt8(clamping: index)]
        if source.playlist.isEnded, film?.isLive != true {
            var seconds = 0.0
            for segment in source.playlist.segments {
                note(segment.map, &track)
                if segment.isGap {
                    gaps.append((index, StreamGap(declared: segment, track: source.track)))
                } else {
                    counts.segments += 1
                    if index == 0 { counts.seconds += segment.duration }
                    if let there = known?.segments[segment.number], !there.isGap {
                        counts.receivedSegments += 1
                        counts.receivedBytes += there.end.length
                        if index == 0 { counts.receivedSeconds += segment.duration }
                    } else {
                        queue.append(Item(track: index, segment: segment))
                        starts[.init(track: index, number: segment.number)] = seconds
                    }
                }
                seconds += segment.duration
            }
        } else {
            track.nextSection = (known?.sections.keys.max() ?? -1) + 1
            let isResumed = known?.segments.isEmpty == false
            let beginning: LivePlan.Beginning =
                switch terms.options.liveStart {
                case .start?: .start
                case .now?: isResumed ? .start : .now
                case nil: isResumed || source.playlist.kind == .event ? .start : .now
                }
            track.live = LivePlan(track: source.track, from: beginning, limit: terms.options.liveSeconds)
        }
        tracks.append(track)
        if track.live != nil { try take(source.playlist, index, known) }
    }

    private func note(_ section: InitializationSection?, _ track: inout Track) {
        guard let section, track.sections[section] == nil else { return }
        track.sections[section] = track.nextSection
        track.nextSection += 1
    }

    // MARK: Live

    /// Hands a playlist to the plan of a live track, and queues its new segments.
    private func take(_ playlist: MediaPlaylist, _ index: Int, _ known: StreamLog.Track? = nil) throws(SegmentFailure) {
        try follow(index, .playlist(playlist, at: terms.time.now()), known)
    }

    private func follow(_ index: Int, _ event: LivePlan.Event, _ known: StreamLog.Track? = nil) throws(SegmentFailure) {
        guard var live = tracks[index].live else { return }
        let step: LivePlan.Step
        do throws(StreamError) { step = try live.handle(event) } catch {
            throw SegmentFailure(DownloadError(error), isWorthRetrying: false)
        }
        tracks[index].live = live
        for segment in step.segments where known?.segments[segment.number] == nil {
            note(segment.map, &tracks[index])
            queue.append(Item(track: index, segment: segment))
            terms.progress.listed(1, seconds: index == 0 ? segment.duration : 0)
        }
        for gap in step.gaps { gaps.append((index, gap)) }
        if case .reload(let delay) = step.next {
            tracks[index].reloadAfter = delay
        } else {
            tracks[index].reloadAfter = nil
        }
        wake()
    }

    /// Reads the playlist of a live track again and again until it ends.
    private func reload(_ index: Int) async {
        reloading += 1
        defer {
            reloading -= 1
            wake()
        }
        while let delay = tracks[index].reloadAfter, fatal == nil, !Task.isCancelled {
            await terms.progress.waitForFinish(atMost: delay, terms.time.sleep)
            do throws(SegmentFailure) {
                if terms.progress.isFinishing {
                    try follow(index, .stop)
                    return
                }
                do throws(SegmentFailure) {
                    let track = tracks[index].source
                    let playlist = try await StreamSource.playlist(track.url, track.imports, requests)
                    try take(playlist, index)
                } catch {
                    guard error.decision.isWorthRetrying || error.head != nil else { throw error }
                    try follow(index, .reloadFailed(status: error.head?.status, at: terms.time.now()))
                }
            } catch {
                fatal = fatal ?? error
                return
            }
        }
    }

    // MARK: Fetching

    private func fetchAll() async {
        let lanes = max(1, terms.mostConnections)
        await withTaskGroup(of: Void.self) { group in
            for index in tracks.indices where tracks[index].reloadAfter != nil {
                group.addTask { await self.reload(index) }
            }
            for lane in 0..<lanes { group.addTask { await self.lane(isFirst: lane == 0) } }
        }
    }

    private func lane(isFirst: Bool) async {
        while let item = await next() {
            let origin = Origin(item.segment.url.url)
            // The first lane uses the slot that the request for the playlist has.
            let needsSlot = !isFirst || origin != Origin(requests.first.url)
            if needsSlot, await !terms.slots.take(origin) {
                // Other lanes may have a slot meanwhile, also of another host.
                putBack(item)
                await pause(isFirst ? .milliseconds(50) : .milliseconds(500))
                continue
            }
            let result = await fetch(item)
            if needsSlot { _ = await terms.slots.give(origin) }
            ended(item, result)
        }
    }

    /// Returns the next segment when there is one; `nil` when nothing is left or the attempt is over.
    private func next() async -> Item? {
        while !Task.isCancelled, fatal == nil, appender?.isStopped != true {
            if position < queue.count {
                let item = queue[position]
                position += 1
                // The front of the list of a live stream would grow for ever.
                if position >= 1024, position * 2 > queue.count {
                    queue.removeFirst(position)
                    position = 0
                }
                inFlight += 1
                return item
            }
            if inFlight == 0, reloading == 0, !tracks.contains(where: { $0.reloadAfter != nil }) { return nil }
            await change()
        }
        return nil
    }

    private func putBack(_ item: Item) {
        inFlight -= 1
        position -= 1
        if position >= 0 { queue[position] = item } else { (position, queue) = (0, [item] + queue) }
        wake()
    }

    private func pause(_ time: Duration) async {
        // A cancelled wait is over.
        try? await terms.time.sleep(time)
    }

    private func wake() {
        let waiting = self.waiting
        self.waiting = []
        for continuation in waiting { continuation.resume() }
    }

    private func change() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled { continuation.resume() } else { waiting.append(continuation) }
            }
        } onCancel: {
            Task { await self.wake() }
        }
    }

    private func ended(_ item: Item, _ result: Result<StreamSegmentEnd, SegmentFailure>) {
        inFlight -= 1
        defer { wake() }
        switch result {
        case .success(let end):
            terms.progress.received(end, countsTime: item.track == 0)
        case .failure(let failure):
            if Task.isCancelled { return }
            // With a signature that has expired every other segment would fail too.
            if failure.mayBeExpired, film?.isLive != true {
                fatal = fatal ?? failure
                return
            }
            var item = item
            item.attempts += 1
            if failure.decision.isWorthRetrying || film?.isLive == true, item.attempts < Self.mostAttempts {
                queue.append(item)
            } else {
                failures.append((item, failure))
            }
        }
    }

    /// Attempts at one segment before the attempt at the film ends with its failure.
    private static let mostAttempts = 3

    private func fetch(_ item: Item) async -> Result<StreamSegmentEnd, SegmentFailure> {
        guard let appender else { return .failure(SegmentFailure(TransportError(.connectionLost), host: "")) }
        // A segment that has just failed is not asked for at once.
        if item.attempts > 0 { await pause(.milliseconds(250 << item.attempts)) }
        let (track, segment) = (UInt8(clamping: item.track), item.segment)
        var section: Int?
        if let map = segment.map {
            section = tracks[item.track].sections[map]
            if let failure = await ensure(map, section ?? 0, of: item.track) { return .failure(failure) }
        }
        var cipher: SegmentFetch.Cipher?
        if let key = segment.key {
            switch await self.key(key.url) {
            case .failure(let failure): return .failure(failure)
            case .success(let found): cipher = .init(key: found, vector: key.initializationVector(segment.number))
            }
        }
        let attempt = attempt
        self.attempt &+= 1
        let range = segment.range
        let fetch = SegmentFetch(range: range, cipher: cipher, watch: SegmentMedia.Watch()) { piece in
            appender.append(
                StreamRecord(
                    .bytes,
                    track: track,
                    number: segment.number,
                    attempt: attempt,
                    length: UInt32(clamping: piece.readableBytes)
                ),
                piece
            )
        }
        switch await fetch.fetch(requests.request(segment.url, range), over: requests.readers) {
        case .failure(let failure): return .failure(failure)
        case .success(let length):
            let end = StreamSegmentEnd(
                section: section,
                discontinuity: segment.discontinuityNumber,
                seconds: segment.duration,
                length: length,
                identity: SegmentIdentity(segment).digest
            )
            let record = StreamRecord.whole(.end, track: track, number: segment.number, attempt: attempt, end.bytes)
            // A receiver that stopped ends the attempt: see `next`.
            try? await appender.append(record).get()
            return .success(end)
        }
    }

    /// Returns the key at a URL, asked for once an attempt.
    private func key(_ url: HTTPURL) async -> Result<SymmetricKey, SegmentFailure> {
        let task =
            keys[url]
            ?? Task { [requests] in
                do throws(SegmentFailure) {
                    let bytes = try await requests.body(url, mostBytes: 64 << 10, what: "The key of this stream").bytes
                    guard bytes.count == SegmentKey.octets else {
                        let error = DownloadError(
                            .invalidStream,
                            "The key of this stream has \(bytes.count) bytes instead of \(SegmentKey.octets): it may be a page for signing in."
                        )
                        throw SegmentFailure(error, isWorthRetrying: false)
                    }
                    return .success(SymmetricKey(data: bytes))
                } catch { return .failure(error) }
            }
        keys[url] = task
        let result = await task.value
        // The next segment asks again for a key that could not be had.
        if case .failure = result { keys[url] = nil }
        return result
    }

    /// Appends an initialization section to the log unless it is there.
    private func ensure(_ map: InitializationSection, _ number: Int, of track: Int) async -> SegmentFailure? {
        if log.tracks[UInt8(clamping: track)]?.sections[number] != nil { return nil }
        let key = SectionKey(track: track, number: number)
        let task = sections[key] ?? Task { await self.fetch(map, number, of: track) }
        sections[key] = task
        let failure = await task.value
        if failure != nil { sections[key] = nil }
        return failure
    }

    private func fetch(_ map: InitializationSection, _ number: Int, of track: Int) async -> SegmentFailure? {
        do throws(SegmentFailure) {
            var bytes = try await requests.body(map.url, map.range, mostBytes: 8 << 20, what: "A part of this stream")
                .bytes
            if let key = map.key {
                switch await self.key(key.url) {
                case .failure(let failure): throw failure
                case .success(let found):
                    bytes = try SegmentFetch.decrypted(bytes, .init(key: found, vector: key.statedVector ?? []))
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
            try? await appender?.append(record).get()
            return nil
        } catch { return error }
    }

    // MARK: Ending

    /// Records the gaps of a film that may have some.
    private func appendGaps() throws(SegmentFailure) {
        guard let appender, film?.allowsGaps == true, fatal == nil, !Task.isCancelled else { return }
        for (item, failure) in failures where !failure.decision.isWorthRetrying || film?.isLive == true {
            gaps.append((item.track, StreamGap(declared: item.segment, track: tracks[item.track].source.track)))
            reasons[item.segment.number] = failure.text
        }
        failures.removeAll { !$0.failure.decision.isWorthRetrying || film?.isLive == true }
        for (track, gap) in gaps {
            let number = gap.numbers.lowerBound
            if log.segment(number, of: UInt8(clamping: track)) != nil { continue }
            let reason =
                reasons[number] ?? (gap.reason == .declared ? "the playlist marks it as missing" : "the list moved on")
            let end = StreamSegmentEnd(seconds: gap.seconds, length: 0, identity: 0, reason: reason)
            _ = appender.append(
                StreamRecord.whole(.gap, track: UInt8(clamping: track), number: number, attempt: attempt, end.bytes)
            )
        }
        gaps = []
    }
    private var reasons: [Int64: String] = [:]

    private func finish() {
        guard let appender else { return }
        if Task.isCancelled { return appender.end(TransportError(.connectionLost, "cancelled")) }
        guard let failure = fatal ?? failures.first?.failure else {
            guard gaps.isEmpty else { return appender.end(TransportError(reporting: incomplete(nil))) }
            return appender.end(nil)
        }
        // A refusal of the first segment is one of the film: the machine waits, renews a link, or gives up.
        if !appender.hasBegun, let head = failure.head, head.status != 404 { return appender.end(nil, refusal: head) }
        let isWorthRetrying =
            fatal.map { $0.decision.isWorthRetrying || $0.mayBeExpired }
            ?? failures.contains { $0.failure.decision.isWorthRetrying }
        let error = fatal.map { $0.head == nil ? $0.decision.error : incomplete($0) } ?? incomplete(failure)
        appender.end(isWorthRetrying ? TransportError(retrying: error) : TransportError(reporting: error))
    }

    /// Ends an attempt that has not begun.
    private func refuse(_ failure: SegmentFailure) {
        let (receiver, loop) = (receiver, loop)
        let error = failure.decision.error
        if let head = failure.head {
            return StreamAppender(head, front: [], to: receiver, on: loop).end(nil, refusal: head)
        }
        let ending =
            failure.decision.isWorthRetrying ? TransportError(retrying: error) : TransportError(reporting: error)
        loop.execute { receiver.ended(ending) }
    }

    private func incomplete(_ failure: SegmentFailure?) -> DownloadError {
        let counts = terms.progress.counts
        var missing = failures.map { ($0.item.segment.number...$0.item.segment.number, $0.item.segment.duration) }
        missing += gaps.map { ($0.gap.numbers, $0.gap.seconds) }
        missing.sort { $0.0.lowerBound < $1.0.lowerBound }
        let seconds = missing.reduce(0) { $0 + $1.1 }
        let listed = missing.prefix(8).map { numbers, _ in
            numbers.count == 1 ? "\(numbers.lowerBound)" : "\(numbers.lowerBound) to \(numbers.upperBound)"
        }
        let more = missing.count > listed.count ? " and \(missing.count - listed.count) more" : ""
        let count = missing.count == 1 ? "1 segment" : "\(missing.count) segments"
        let what =
            missing.isEmpty
            ? "The stream is not whole."
            : "\(count) of \(counts.segments + gaps.count) could not be had (\(String(format: "%.0f", seconds)) s of the film): number \(listed.joined(separator: ", "))\(more)."
        let why = failure.map { " " + $0.decision.error.message } ?? " The playlist marks them as missing."
        return DownloadError(
            .incompleteStream,
            what + why + " Everything else is kept, and resuming the download fetches only what is missing.",
            cause: failure?.decision.error.cause,
            status: failure?.decision.error.status
        )
    }
}
