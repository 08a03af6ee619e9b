import Testing

@testable import HaulCore

/// Additional connections that the server accepts but never answers.
struct TransferAnswerTests {
    private static let total: Int64 = 1_000_000_000
    private static let url = link("https://home.example/f")

    private var transfer = Transfer()
    private var sources = SourceSelector(Self.url, mirrors: [])
    private var persisted = PersistedRanges.zero
    private var now = Instant.start

    private mutating func begin(answeredAfter time: Duration, at host: KnownHost = KnownHost(), connections: Int = 2) {
        var terms = Transfer.Terms(resource: Resource(total: Self.total))
        terms.resource.validator.entityTag = EntityTag("\"a\"")
        terms.limits = .init(connections: connections, start: 1)
        let first = DownloadMachine.ConnectionID(number: transfer.issueID().number)
        transfer.answers.noteFirstRequest(at: now)
        now = now + time
        transfer.answers.noteFirstAnswer(at: now)
        transfer.begin(
            (id: first, lower: 0, upper: nil, compare: 0),
            terms,
            persisted,
            sources,
            host: host,
            at: now
        )
        transfer.slots.replace([Origin(Self.url): 8])
    }

    /// Simulates `count` seconds. The first connection brings 10 MB per second until its segment is done.
    private mutating func seconds(_ count: Int) -> [(DownloadMachine.Action, Transfer.Outcome)] {
        (0..<10 * count).flatMap { _ in
            now = now + .milliseconds(100)
            let first = DownloadMachine.ConnectionID(number: 1)
            if let segment = transfer.plan?.segments[first] {
                persisted.written.insert(contentsOf: segment.position..<min(segment.end, segment.position + 1_000_000))
            }
            let (actions, outcome) = transfer.advance(persisted, &sources, at: now)
            return actions.map { ($0, outcome) }
        }
    }

    @Test mutating func isGivenUpAndTheFirstBringsItsPart() throws {
        begin(answeredAfter: .milliseconds(20))
        let opened = seconds(5)
        #expect(opened.contains { if case .open = $0.0 { true } else { false } })
        let question = try #require(transfer.active.values.first { !$0.isFlowing }?.question)
        let given = seconds(2).map(\.0)
        #expect(given.contains { if case .close = $0 { true } else { false } })
        // The first request asked for the whole file, so its connection can take the range of the closed one.
        #expect(given.contains { if case .shorten(_, let end) = $0 { end > question.offset } else { false } })
        #expect(transfer.controller.learnedLimit == 1)
    }

    @Test mutating func isGivenUpWhileASpeedLimitHoldsTheOthersBack() {
        transfer.isHeldBack = true
        begin(answeredAfter: .milliseconds(20), at: KnownHost(worthwhile: 8), connections: 8)
        _ = seconds(1)
        #expect(transfer.active.values.count { !$0.isFlowing } == 3)
        let given = seconds(5).map(\.0)
        #expect(given.count { if case .close = $0 { true } else { false } } == 3)
        // The first connection gets the segments of the closed ones back.
        #expect(transfer.plan?.segments.values.map(\.end) == [Self.total])
    }

    @Test mutating func isWaitedForWhereTheServerTakesItsTimeForEachAnswer() {
        begin(answeredAfter: .seconds(3))
        _ = seconds(2)
        #expect(transfer.active.count == 2)
        #expect(!seconds(20).contains { if case .close = $0.0 { true } else { false } })
        #expect(seconds(5).contains { if case .close = $0.0 { true } else { false } })
    }

    @Test mutating func isGivenUpWhereNoOtherConnectionIsLeft() throws {
        begin(answeredAfter: .milliseconds(20))
        _ = seconds(1)
        let question = try #require(transfer.active.values.first { !$0.isFlowing }?.question)
        persisted.written.insert(contentsOf: 0..<question.offset)
        _ = transfer.advance(persisted, &sources, at: now)
        let first = DownloadMachine.ConnectionID(number: 1)
        #expect(transfer.ended(first, .finished, persisted, &sources, at: now).1 == .goesOn)
        transfer.slots.replace([:])
        #expect(seconds(10).last?.1 == .noConnections)
    }

    @Test mutating func isGivenUpBeforeTheFirstIsDoneWithItsPart() throws {
        begin(answeredAfter: .milliseconds(20))
        _ = seconds(2)
        let question = try #require(transfer.active.values.first { !$0.isFlowing }?.question)
        // The first connection is two seconds from the end of its segment.
        persisted.written.insert(contentsOf: 0..<question.offset - 20_000_000)
        let actions = seconds(3).map(\.0)
        #expect(actions.contains { if case .shorten(_, let end) = $0 { end == Self.total } else { false } })
        #expect(transfer.active.count == 1 && transfer.plan?.segments.values.first?.end == Self.total)
    }
}
