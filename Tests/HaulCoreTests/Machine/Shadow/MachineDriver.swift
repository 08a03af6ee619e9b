import Foundation

@testable import HaulCore

/// A machine, with shortcuts to each of its states.
struct MachineDriver {
    typealias Action = DownloadMachine.Action

    /// Names of the states, for tables of test arguments.
    enum Place: String, CaseIterable {
        case queued, inspectingDisk, awaitingURL, choosing, comparing, connecting, preparing, transferring, backingOff,
            verifying,
            publishing
        case paused, completed, failed, cancelled
    }

    var machine: DownloadMachine
    var now = Instant.start

    init(_ change: (inout DownloadMachine.Settings) -> Void = { _ in }) {
        var settings = DownloadMachine.Settings(
            request: DownloadRequest(link("https://files.example/a.iso"), to: .folder(path: "/d"))
        )
        change(&settings)
        machine = DownloadMachine(settings, seed: 1)
    }

    init(at place: Place, _ change: (inout DownloadMachine.Settings) -> Void = { _ in }) {
        self.init(change)
        let upToTransferring: [Place] = [.transferring, .backingOff, .verifying, .publishing, .completed, .failed]
        if place == .paused { send(.pauseRequested) }
        if place == .cancelled { send(.cancelRequested) }
        if place == .inspectingDisk { send(.slotGranted) }
        if place == .awaitingURL {
            machine.link.canAsk = true
            machine.link.setExpiry(expiresAt: now, at: now)
            connect()
        }
        if place == .connecting { connect() }
        if place == .choosing || place == .comparing {
            connect()
            answer(.answer(200, ["Content-Length": "100000", "ETag": "W/\"a\""]))
            send(.bytesLanded(persisted(50_000)))
            breakOff(at: 50_000)
            wakeUp()
        }
        if place == .comparing {
            send(.blocksChosen(choice, [0..<16_384, 20_000..<25_000]))
            send(.headReceived(id, .block(of: question), retryAfter: nil))
        }
        if place == .preparing || upToTransferring.contains(place) {
            connect()
            send(.headReceived(id, .whole, retryAfter: nil))
        }
        guard upToTransferring.contains(place) else { return }
        send(.prepared(id))
        send(.bytesLanded(persisted(500)))
        switch place {
        case .backingOff: breakOff(at: 500)
        case .failed:
            send(.connectionEnded(id, .diskFailed(DiskError(.full, call: "pwritev", path: "/p"), persisted(500))))
        case .verifying, .publishing, .completed:
            send(.connectionEnded(id, .finished(persisted(1000))))
            if place != .verifying { send(.verified(.unchecked)) }
            if place == .completed { send(.published(path: "/a.iso")) }
        default: break
        }
    }

    var state: DownloadMachine.State { machine.state }

    var place: Place {
        switch machine.state {
        case .queued: .queued
        case .inspectingDisk: .inspectingDisk
        case .awaitingURL: .awaitingURL
        case .choosing: .choosing
        case .comparing: .comparing
        case .connecting: .connecting
        case .preparing: .preparing
        case .transferring: .transferring
        case .backingOff: .backingOff
        case .verifying: .verifying
        case .publishing: .publishing
        case .paused: .paused
        case .completed: .completed
        case .failed: .failed
        case .cancelled: .cancelled
        }
    }

    var error: DownloadError? {
        switch machine.state {
        case .failed(let error), .backingOff(_, let error): error
        default: nil
        }
    }

    /// The connection that was opened last, and the timer that was started last.
    private(set) var id = DownloadMachine.ConnectionID(number: 0)
    private(set) var timer = DownloadMachine.TimerID(number: 0)
    private(set) var question = RangeRequest.whole
    private(set) var wait = Duration.zero
    /// The last choice of blocks and its plan.
    private(set) var choice = DownloadMachine.ChoiceID(number: 0)
    private(set) var plan: ComparisonPlan?
    /// The last query to the source provider and its reason.
    private(set) var ask = DownloadMachine.AskID(number: 0)
    private(set) var reason: SourceQuery.Reason?

    func persisted(_ written: Int64) -> PersistedRanges { PersistedRanges(written: written, synced: 0) }

    @discardableResult
    mutating func send(_ event: DownloadMachine.Event) -> [Action] {
        let actions = machine.handle(event, at: now)
        for action in actions {
            switch action {
            case .open(let opened, let asked): (id, question) = (opened, asked)
            case .chooseBlocks(let chosen, let from): (choice, plan) = (chosen, from)
            case .startTimer(let started, let after): (timer, wait) = (started, after)
            case .askForSource(let asked, let why): (ask, reason) = (asked, why)
            default: break
            }
        }
        return actions
    }

    mutating func connect() {
        send(.slotGranted)
        send(.recovered(nil))
    }

    /// Sends the answer to the present request, and the end of its preparation.
    @discardableResult
    mutating func answer(_ head: ResponseHead, retryAfter: Duration? = nil) -> [Action] {
        let actions = send(.headReceived(id, head, retryAfter: retryAfter))
        guard case .preparing = state else { return actions }
        return actions + send(.prepared(id))
    }

    @discardableResult
    mutating func breakOff(_ kind: TransportError.Kind = .connectionLost, at written: Int64 = 0) -> [Action] {
        send(.connectionEnded(id, .failed(TransportError(kind), persisted(written))))
    }

    @discardableResult
    mutating func wakeUp() -> [Action] { send(.timerFired(timer)) }
}

extension ResponseHead {
    /// An answer with 1000 bytes of version "a".
    static var whole: ResponseHead { whole(of: "a") }

    static func whole(of version: String, total: Int64 = 1000) -> ResponseHead {
        .answer(200, ["Content-Length": "\(total)", "ETag": "\"\(version)\""])
    }

    /// The answer to the request for one block of a file with a weak tag; by default the file has 100,000 bytes.
    static func block(of question: RangeRequest, tag: String? = "W/\"a\"", total: Int64 = 100_000) -> ResponseHead {
        var head = ResponseHead.answer(
            206,
            ["Content-Range": "bytes \(question.first)-\((question.end ?? total) - 1)/\(total)"]
        )
        if let tag { head.headers.add(name: "ETag", value: tag) }
        return head
    }

    /// An answer with the rest of a version, by default of "a".
    static func rest(from first: Int64, to last: Int64 = 999, of version: String = "a") -> ResponseHead {
        .answer(206, ["Content-Range": "bytes \(first)-\(last)/1000", "ETag": "\"\(version)\""])
    }
}
