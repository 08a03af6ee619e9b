import Testing

@testable import HaulCore

/// Connections of a transfer whose unfinished file is read.
struct TransferReaderTests {
    typealias ID = DownloadMachine.ConnectionID
    private static let total: Int64 = 100_000_000
    private static let url = link("https://home.example/film.mp4")

    private var transfer = Transfer()
    private var sources = SourceSelector(Self.url, mirrors: [])
    private var now = Instant.start
    private var persisted = PersistedRanges.zero
    private var first = ID(number: 1)

    /// Begins a transfer whose first connection has brought 1 MB a second for 0.3 s.
    private mutating func begin(
        connections: Int,
        tag: String? = "\"a\"",
        isMedia: Bool = false,
        fetchesMediaEndEarly: Bool? = nil,
        offersRanges: Bool = true
    ) {
        let fields = offersRanges ? [("Accept-Ranges", "bytes")] : []
        transfer.readers.noteFirstAnswer(ResponseHead(status: 200, fields: fields, url: Self.url))
        var terms = Transfer.Terms(resource: Resource(total: Self.total))
        terms.resource.validator.entityTag = tag.map { EntityTag($0) }
        terms.limits = .init(connections: connections, start: 1)
        terms.limits.fetchesMediaEndEarly = fetchesMediaEndEarly
        terms.isMedia = isMedia
        first = transfer.issueID()
        transfer.begin((first, 0, nil, 0), terms, persisted, sources, host: KnownHost(), at: now)
        for _ in 0..<3 { _ = tick() }
    }

    private mutating func tick() -> ([DownloadMachine.Action], Transfer.Outcome) {
        now = now + .milliseconds(100)
        transfer.slots.replace([Origin(Self.url): 8])
        for id in transfer.openIDs where transfer.active[id]?.isFlowing == true {
            guard let segment = transfer.plan?.segments[id] else { continue }
            persisted.written.insert(contentsOf: segment.position..<min(segment.end, segment.position + 100_000))
        }
        return transfer.advance(persisted, &sources, at: now)
    }

    private mutating func wait(at positions: [Int64]) -> ([DownloadMachine.Action], Transfer.Outcome) {
        transfer.readers.wait(at: positions)
        return transfer.advance(persisted, &sources, at: now)
    }

    private func requests(_ actions: [DownloadMachine.Action]) -> [Range<Int64>] {
        actions.compactMap {
            if case .open(_, let question) = $0 { question.offset..<(question.end ?? -1) } else { nil }
        }
    }

    @Test mutating func aReaderInTheFarPartGetsAConnectionAtOnce() {
        begin(connections: 4)
        let (actions, outcome) = wait(at: [80_000_000])
        #expect(requests(actions) == [80_000_000..<Self.total])
        #expect(outcome == .goesOn)
        #expect(transfer.active[first] != nil)
        // The same wish again asks for nothing more.
        #expect(requests(wait(at: [80_000_000]).0).isEmpty)
    }

    @Test mutating func twoReadersGetAConnectionEach() {
        begin(connections: 4)
        #expect(requests(wait(at: [80_000_000, 40_000_000]).0).map(\.lowerBound) == [80_000_000, 40_000_000])
    }

    @Test mutating func nothingIsRequestedForBytesThatComeWithinASecond() {
        begin(connections: 4)
        let before = transfer.plan?.segments
        #expect(requests(wait(at: [1_200_000]).0).isEmpty)
        #expect(transfer.plan?.segments == before)
    }

    @Test mutating func theOnlyConnectionIsGivenUpIfNoOtherIsAllowed() {
        begin(connections: 1)
        let (actions, outcome) = wait(at: [80_000_000])
        #expect(actions.contains(.close(first)))
        #expect(outcome == .givenUpForReader)
    }

    @Test mutating func connectionsAreGivenUpForOnePercentOfTheFileAtMostAndOnceASecond() {
        begin(connections: 2)
        var givenUp: [Instant] = []
        for turn in 0..<400 {
            let owing = Set((transfer.plan?.segments ?? [:]).keys)
            // The reader jumps every second.
            let actions = wait(at: [Int64(turn / 10 * 37 % 100) * 1_000_000 + 500_000]).0
            for case .close(let id) in actions where owing.contains(id) { givenUp.append(now) }
            answer(actions)
            answer(tick().0)
        }
        #expect(givenUp.count > 1)
        #expect(Int64(givenUp.count) * (64 << 10) <= Self.total / 100)
        #expect(zip(givenUp, givenUp.dropFirst()).allSatisfy { $1 - $0 >= .seconds(1) })
    }

    /// Accepts the requests of `actions`.
    private mutating func answer(_ actions: [DownloadMachine.Action]) {
        for case .open(let id, let question) in actions {
            let head = ResponseHead(
                status: 206,
                fields: [
                    ("Content-Range", "bytes \(question.offset)-\((question.end ?? Self.total) - 1)/\(Self.total)"),
                    ("ETag", "\"a\""),
                ],
                url: Self.url
            )
            answer(transfer.answered(id, head, retryAfter: nil, &sources, at: now).0)
        }
    }

    @Test mutating func theOnlyConnectionStaysIfNothingShowsThatTheServerSendsRanges() {
        begin(connections: 1, offersRanges: false)
        let (actions, outcome) = wait(at: [80_000_000])
        #expect(actions.isEmpty)
        #expect(outcome == .goesOn)
    }

    @Test(arguments: [(nil, false), ("W/\"a\"", true)] as [(String?, Bool)])
    mutating func withoutAnyValidatorTheReaderWaits(_ tag: String?, _ isServed: Bool) {
        begin(connections: 4, tag: tag)
        let (actions, outcome) = wait(at: [80_000_000])
        #expect(actions.isEmpty != isServed)
        #expect(outcome == .goesOn)
    }

    @Test mutating func aReaderThatIsServedOrGoneLeavesTheOrderAsItWas() {
        begin(connections: 4)
        _ = wait(at: [200_000])
        #expect(transfer.readers.positions.isEmpty)
        let (actions, _) = wait(at: [])
        #expect(requests(actions).isEmpty)
    }

    @Test(arguments: [(true, true), (false, true), (true, false), (false, false)])
    mutating func theEndOfAFilmComesEarlyOnlyIfThatIsWanted(_ isMedia: Bool, _ isWanted: Bool) {
        begin(connections: 4, isMedia: isMedia, fetchesMediaEndEarly: isWanted ? true : nil)
        var asked: [Range<Int64>] = []
        for _ in 0..<40 where asked.isEmpty { asked += requests(tick().0) }
        #expect((asked.first?.lowerBound == Self.total - 1 << 20) == (isMedia && isWanted))
        #expect(!asked.isEmpty)
    }
}
