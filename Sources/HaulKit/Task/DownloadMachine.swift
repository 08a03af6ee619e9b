internal import Foundation
internal import NIOHTTP1

/// The life of one download as a value: every decision, no effect.
///
/// `handle` takes what happened and returns what is to be done. It has no clock, no random source but its own seed, no
/// tasks; so a life can be logged, replayed, fuzzed and compared. An event that comes too late changes nothing and
/// returns no action: the network's timing can never trap the process. The table of states is in docs/design.md.
///
/// What is stored is written by the machine's own files (`DownloadMachine+…`) and read by others.
struct DownloadMachine: Sendable, Equatable {
    var settings: Settings
    var state: State
    /// What is known of the representation; nil before the first answer and after everything was dropped.
    var resource: Resource?
    var persisted: PersistedRanges
    var patience: RetryBudget
    /// Set when the bytes came from another URL than the one now asked.
    var isFromReplacedSource: Bool

    enum Wish: Sendable, Equatable {
        case run, pause, cancel, yield
        case hold(HoldReason)
    }
    /// What was asked for during a step that must not be torn.
    var wish = Wish.run
    /// Why it is paused, where that is not the user's wish; nil in every other state.
    var hold: HoldReason?
    /// Bytes that were here when the present attempt began.
    var countAtOpen: Int64 = 0
    var rangesAreBroken = false
    var asksPlain = false
    var dropsWhatIsThere = false
    /// The file was closed for the rest: after it the disk is inspected again.
    var recoversAfterRest = false
    var sources: SourceSelector
    var transfer = Transfer()
    /// What is compared before a resume where no strong name vouches for the version.
    var comparison: VersionComparison
    /// What other downloads have learned of the host.
    var host = KnownHost()
    var timers = 0
    /// Where its random numbers begin.
    let seed: UInt64

    /// - Parameters:
    ///   - resource: what an earlier run learned.
    ///   - mark: how far an earlier run came; the file is looked at before it counts.
    init(
        _ settings: Settings,
        state: State = .queued,
        resource: Resource? = nil,
        persisted: PersistedRanges = .zero,
        hold: HoldReason? = nil,
        seed: UInt64,
        isFromReplacedSource: Bool = false
    ) {
        self.settings = settings
        self.state = state
        self.resource = resource
        self.persisted = persisted
        if state == .paused { self.hold = hold }
        self.seed = seed
        self.isFromReplacedSource = isFromReplacedSource
        self.patience = RetryBudget(seed: seed)
        comparison = VersionComparison(seed: seed)
        sources = SourceSelector(settings.url, target: settings.target, mirrors: settings.mirrors)
        link = ExpiringURL(settings)
    }

    // MARK: What the user wants

    /// Changes what the download is to be, between two runs of it; while it runs nothing changes.
    mutating func retarget(_ settings: Settings, isFromReplacedSource: Bool) {
        switch state {
        case .queued, .paused, .failed:
            self.settings = settings
            let earlier = link
            sources = SourceSelector(settings.url, target: settings.target, mirrors: settings.mirrors)
            link = ExpiringURL(settings, after: earlier)
            if isFromReplacedSource { self.isFromReplacedSource = true }
        default: break
        }
    }

    /// Takes over what the store says of the representation, while what is on disk is being looked at.
    mutating func takeOver(_ stored: StoredVersion) {
        guard state == .inspectingDisk else { return }
        let place = resource?.place
        resource = stored.resource
        if let isRepair = stored.isRepair { settings.isRepair = isRepair }
        // A link that came a moment ago may not have been recorded yet.
        if self.resource?.place == nil { self.resource?.place = place }
    }

    mutating func resume() -> [Action] {
        switch state {
        case .paused, .failed:
            hold = nil
            state = .queued
            patience.renew()
            sources.renew()
            link.forgiveRefusal()
            return [.report]
        default:
            switch wish {
            case .pause: wish = .run
            // What is under way may have been stopped for it: it is queued, and tried at once.
            case .hold: wish = .yield
            case .run, .cancel, .yield: break
            }
            return []
        }
    }

    mutating func stop(_ wish: Wish) -> [Action] {
        switch state {
        case .queued, .awaitingURL, .choosing: return settle(wish)
        case .connecting(let id, _), .comparing(let id, _): return [.close(id)] + settle(wish)
        case .transferring: return transfer.closeAll() + settle(wish)
        case .backingOff: return [.cancelTimer(TimerID(number: timers))] + settle(wish)
        case .verifying: return [.cancelVerification] + settle(wish)
        case .paused where wish == .pause && hold != nil:
            hold = nil
            return [.report]
        case .paused, .failed: return wish == .cancel ? settle(wish) : []
        case .inspectingDisk, .publishing:
            // Short steps that must not be torn: the wish is kept until they are done, and a file that is being
            // published is about to be complete.
            keep(wish)
            return []
        case .preparing(let id, let preparation, let ended):
            keep(wish)
            guard ended == nil else { return [] }
            state = .preparing(id, preparation, ended: .failed(TransportError(.connectionLost), nil))
            return [.close(id)]
        case .completed, .cancelled: return []
        }
    }

    /// A cancelled download stays cancelled, even if the whole downloader is told to pause before the step is done.
    mutating func keep(_ wish: Wish) {
        switch (self.wish, wish) {
        case (.cancel, _), (.pause, .yield), (.pause, .hold), (.hold, .yield), (.hold, .hold): break
        default: self.wish = wish
        }
    }

    /// Begins with what is on the disk.
    mutating func recover() -> [Action] {
        recoversAfterRest = false
        state = .inspectingDisk
        return [.recover, .report]
    }

    /// Comes to rest as was wished; runs on if that is the wish.
    mutating func settle(_ wish: Wish) -> [Action] {
        self.wish = .run
        hold = nil
        switch wish {
        case .run: return []
        case .hold(let reason):
            hold = reason
            state = .paused
            return link.stopAsking() + [.checkpoint, .releaseFile, .report]
        case .pause:
            state = .paused
            return link.stopAsking() + [.checkpoint, .releaseFile, .report]
        case .yield:
            state = .queued
            return link.stopAsking() + [.checkpoint, .releaseFile, .report]
        case .cancel:
            state = .cancelled
            return link.stopAsking() + [.discardPartial, .releaseFile, .report]
        }
    }

    /// Ends a short step: what the user asked for meanwhile comes first.
    mutating func settleOr(_ next: (inout DownloadMachine) -> [Action]) -> [Action] {
        wish == .run ? next(&self) : settle(wish)
    }
}
