import Foundation
import Testing

@testable import HaulCore

/// Random lives of downloads in a hostile world, with several hundred thousand events. A failure names its seed.
struct MachineRandomWalkTests {
    private func shadow(_ seed: UInt64) -> ShadowDownload {
        var random = SplitMix64(seed: seed)
        let server = ShadowServer(&random)
        return ShadowDownload(ShadowSettings.draw(server, &random), server: server, seed: seed)
    }

    private func story(_ shadow: ShadowDownload, _ seed: UInt64) -> Comment {
        let last = shadow.log.map { "  \($0.event)\n    -> \($0.state)\n       \($0.actions)" }.joined(separator: "\n")
        return "seed \(seed): \(shadow.problems)\n\(last)"
    }

    @Test(arguments: 0..<24)
    func survivesAHostileWorldAndCompletesInAKindOne(_ group: Int) {
        for seed in UInt64(group * 25)..<UInt64(group * 25 + 25) {
            var shadow = shadow(seed)
            for _ in 0..<400 where shadow.problems.isEmpty && shadow.eventsAfterEnd < 20 { shadow.proceedHostilely() }
            guard shadow.problems.isEmpty else {
                Issue.record(story(shadow, seed))
                continue
            }
            completes(&shadow, seed)
        }
    }

    /// Checks that a download in any state comes to its end once nothing fails any more.
    private func completes(_ shadow: inout ShadowDownload, _ seed: UInt64) {
        shadow.isBenevolent = true
        if shadow.machine.settings.url.host == ShadowServer.wrongHost { shadow.replaceLink() }
        let settings = shadow.machine.settings
        if settings.checksum != nil || settings.pieces != nil || settings.size != nil {
            shadow.server.change(to: ShadowServer.finalVersion, &shadow.random)
        }
        let wasSkipped = shadow.machine.state == .completed(path: "/there")
        for _ in 0..<4000 where shadow.problems.isEmpty && !hasEnded(shadow) { shadow.proceed() }
        guard shadow.problems.isEmpty else {
            Issue.record(story(shadow, seed))
            return
        }
        switch shadow.machine.state {
        case .cancelled: break
        case .completed("/done"):
            let persisted = shadow.machine.persisted
            #expect(persisted.prefix == shadow.machine.resource?.total, story(shadow, seed))
        case .completed: #expect(wasSkipped, story(shadow, seed))
        case .failed where mayFail(shadow): break
        default: Issue.record("comes to no end. \(story(shadow, seed))")
        }
    }

    private func hasEnded(_ shadow: ShadowDownload) -> Bool {
        guard shadow.steps.isEmpty else { return false }
        return shadow.isOver || mayFail(shadow)
    }

    private func mayFail(_ shadow: ShadowDownload) -> Bool {
        guard case .failed(let error) = shadow.machine.state else { return false }
        // The received bytes belong to a file of another length than the present link.
        if shadow.machine.link.isVouchedFor, shadow.machine.link.isUntried, let total = shadow.machine.resource?.total,
            total != shadow.server.current.total
        {
            return true
        }
        // The server has another version now, which the user does not want.
        return shadow.machine.settings.failsOnChange && error.code == .contentChanged
    }

    @Test(arguments: UInt64(1000)..<1040)
    func isTheSameDownloadForTheSameSeedAndEvents(_ seed: UInt64) {
        var (one, other) = (shadow(seed), shadow(seed))
        for _ in 0..<150 {
            one.proceedHostilely()
            other.proceedHostilely()
        }
        #expect(one.machine == other.machine, "seed \(seed)")
    }

    /// Checks that events in any order never trap the process, and have no effect after the end.
    @Test(arguments: UInt64(2000)..<2040)
    func survivesEventsInNoOrderAtAll(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var server = ShadowServer(&random)
        server.badness = 50
        var machine = DownloadMachine(ShadowSettings.draw(server, &random), seed: seed)
        var now = Instant.start
        for _ in 0..<300 {
            let before = machine
            now = now + .milliseconds(Int.random(in: 0...300, using: &random))
            let actions = machine.handle(anything(&server, &random), at: now)
            switch before.state {
            case .completed, .cancelled: #expect(actions.isEmpty && machine == before, "seed \(seed)")
            default: break
            }
            if machine.state == before.state { continue }
            #expect(!actions.isEmpty || isSilent(before.state, machine.state), "seed \(seed): \(machine.state)")
        }
    }

    /// Returns whether a change of state is not reported.
    private func isSilent(_ before: DownloadMachine.State, _ after: DownloadMachine.State) -> Bool {
        if case .preparing = before, case .preparing = after { return true }
        return false
    }

    private func anything(_ server: inout ShadowServer, _ random: inout SplitMix64) -> DownloadMachine.Event {
        let id = DownloadMachine.ConnectionID(number: Int.random(in: 0..<8, using: &random))
        let (lower, written) = (Int64.random(in: 0..<20, using: &random), Int64.random(in: 0..<50, using: &random))
        let persisted = PersistedRanges(written: ByteSet(min(lower, written)..<written), synced: ByteSet())
        let question = RangeRequest.resuming(Resource(total: 50), at: written, resumesUnverified: true)
        let error = DownloadError(.diskFailed, "any")
        let events: [DownloadMachine.Event] = [
            .slotGranted, .pauseRequested, .resumeRequested, .resumeRequested, .recovered(persisted), .recovered(nil),
            .headReceived(id, server.answer(question, &random).head, retryAfter: nil), .prepared(id),
            .bytesLanded(persisted),
            .connectionEnded(id, .finished(persisted)),
            .connectionEnded(id, .failed(TransportError(.stalled), persisted)),
            .connectionEnded(id, .overlapDiffers), .timerFired(.init(number: id.number)), .verified(.right),
            .blocksChosen(.init(number: id.number), [0..<5, 7..<9]), .blocksUnreadable(.init(number: id.number), error),
            .verified(.mismatch(expected: ShadowServer.digest(of: 1), actual: ShadowServer.digest(of: 2))),
            .published(path: "/x"), .stepFailed(error),
            .connectionEnded(id, .diskFailed(DiskError(.full, call: "pwritev", path: "/x"), persisted)),
            .connectionEnded(id, .noConnectionSlot), .connectionWanted([Origin(ShadowServer.url)]),
            .readersWait([lower - 5, written + lower]), .readersWait([]),
            .pieceChecked(Int.random(in: -1..<10, using: &random), isRight: Bool.random(using: &random)),
            .sourceFound(.init(number: id.number), .init(url: link("https://cdn1.example/\(id.number)?s=1"))),
            .sourceFound(.init(number: id.number), .init(url: ShadowServer.url, expiresAt: .start)),
            .sourceFailed(.init(number: id.number), error), .sourceReplaced(.init(url: ShadowServer.url)),
            .sourceReplaced(.init(url: link("https://cdn2.example/\(id.number)?s=1"), expiresAt: .start + .seconds(9))),
        ]
        if Int.random(in: 0..<100, using: &random) == 0 { return .cancelRequested }
        if Int.random(in: 0..<6, using: &random) == 0 {
            let reason = HoldReason.allCases.randomElement(using: &random) ?? .offline
            return [.held(reason), .holdEnded(reason), .spaceMissing(reason, error), .spaceMissing(nil, error)]
                .randomElement(using: &random) ?? .held(reason)
        }
        return events.randomElement(using: &random) ?? .slotGranted
    }
}
