import Testing

@testable import HaulCore

/// Connections that bring few bytes or none for some time: whether they are replaced.
struct TransferDripTests {
    private static let total: Int64 = 8_000_000
    private static let url = link("https://home.example/f")

    private var transfer = Transfer()
    private var sources = SourceSelector(Self.url, mirrors: [])
    private var persisted = PersistedRanges.zero
    private var flowing: Set<DownloadMachine.ConnectionID> = []
    private var opened = 1
    private var now = Instant.start
    private let connections: Int

    init() { self.init(connections: 4) }

    private init(connections: Int) {
        self.connections = connections
        var terms = Transfer.Terms(resource: Resource(total: Self.total))
        terms.resource.validator.entityTag = EntityTag("\"a\"")
        terms.limits = .init(connections: connections, start: connections)
        let first = DownloadMachine.ConnectionID(number: transfer.issueID().number)
        flowing = [first]
        transfer.begin(
            (id: first, lower: 0, upper: nil, compare: 0),
            terms,
            persisted,
            sources,
            host: KnownHost(),
            at: now
        )
        transfer.slots.replace([Origin(Self.url): 2 * connections])
    }

    private mutating func perform(_ actions: [DownloadMachine.Action]) {
        for action in actions {
            switch action {
            case .open(let id, let question):
                opened += 1
                let end = question.end ?? Self.total
                let head = ResponseHead(
                    status: 206,
                    fields: [
                        ("Content-Range", "bytes \(question.offset)-\(end - 1)/\(Self.total)"), ("ETag", "\"a\""),
                    ],
                    url: Self.url
                )
                flowing.insert(id)
                perform(transfer.answered(id, head, retryAfter: nil, &sources, at: now).0)
            case .close(let id): flowing.remove(id)
            default: break
            }
        }
    }

    /// Simulates time until every byte has arrived, at most until `limit`.
    ///
    /// - Parameter speed: returns the speed of a connection in bytes per second, by its number.
    /// - Returns: whether every byte arrived before `limit`.
    private mutating func run(for limit: Duration, _ speed: (Int) -> Double) -> Bool {
        var carried: [DownloadMachine.ConnectionID: Double] = [:]
        while now - .start < limit {
            now = now + .milliseconds(50)
            transfer.slots.replace([Origin(Self.url): 2 * connections])
            for id in flowing.sorted(by: { $0.number < $1.number }) {
                guard let segment = transfer.plan?.segments[id] else { continue }
                let bytes = carried[id, default: 0] + speed(id.number) / 20
                carried[id] = bytes - bytes.rounded(.down)
                let end = min(segment.end, segment.position + Int64(bytes))
                if end > segment.position { persisted.written.insert(contentsOf: segment.position..<end) }
            }
            perform(transfer.advance(persisted, &sources, at: now).0)
            if persisted.count == Self.total { return true }
            for id in flowing.sorted(by: { $0.number < $1.number }) where transfer.active[id] != nil {
                guard transfer.plan?.segments[id] == nil else { continue }
                flowing.remove(id)
                perform(transfer.ended(id, .finished, persisted, &sources, at: now).0)
            }
        }
        return false
    }

    @Test(arguments: [Set([2, 3, 4, 5]), [2, 3, 4, 6], [2, 3, 4], [3, 4, 5, 6, 7]])
    mutating func endsWhereEachConnectionButTheFirstDrips(_ drips: Set<Int>) {
        #expect(run(for: .seconds(300)) { drips.contains($0) ? 1 : 5_000_000 })
        #expect(opened < 40)
    }

    @Test mutating func replacesOnlySoManyWhereTheServerHasBecomeSlow() {
        #expect(!run(for: .seconds(600)) { $0 == 1 ? 5_000_000 : 1 })
        #expect(transfer.replacements <= Transfer.mostReplacements)
    }

    /// A server that shares 3 MB/s between its connections and sends pieces of 30 kB in no particular order.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func keepsConnectionsThatWaitForTheirNextPiece(_ seed: UInt64) {
        var trial = TransferDripTests(connections: 16)
        var chance = SplitMix64(seed: seed)
        #expect(
            trial.run(for: .seconds(20)) { _ in
                let pieces = (0..<5).count { _ in Int.random(in: 0..<16, using: &chance) == 0 }
                return Double(pieces * 30_000 * 20)
            }
        )
        // At the end, when one or two connections are left, they are compared with the best speed of the server.
        #expect(trial.transfer.replacements < 4)
    }
}
