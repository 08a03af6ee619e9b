internal import Foundation

/// State machine of one download, as a value. It makes every decision and performs no effect.
///
/// `handle` takes an event and returns the actions to perform. The machine has no clock, no tasks and no random source
/// but its own seed, so a run can be logged, replayed, fuzzed and compared. A late event changes nothing and returns
/// no action, so the timing of the network can never trap the process. `docs/design/machine.md` has the table of
/// states.
///
/// Only the machine's own files (`DownloadMachine+…`) write its stored properties. Other types read them.
package struct DownloadMachine: Sendable, Equatable {
    package internal(set) var settings: Settings
    package internal(set) var state: State
    /// The representation as the answers described it; `nil` before the first answer and after all bytes were dropped.
    package internal(set) var resource: Resource?
    package internal(set) var persisted: PersistedRanges
    var patience: RetryBudget
    var joining: Joining

    package enum Wish: Sendable, Equatable {
        case run, pause, cancel, yield
        case hold(HoldReason)
    }
    /// Wish that came during a step that must not be interrupted; `run` if none came.
    var wish = Wish.run
    /// Hold reason while a hold pauses the download; `nil` in every other state and after a pause by the user.
    package internal(set) var hold: HoldReason?
    var restTimer = RestTimer()
    package internal(set) var sources: SourceSelector
    package internal(set) var transfer = Transfer()
    /// Comparison of blocks before a resume of a version without a strong validator.
    var comparison: VersionComparison
    /// Facts about the host that other downloads have learned.
    var host = KnownHost()
    /// Seed of the machine's random numbers.
    package let seed: UInt64

    /// - Parameters:
    ///   - resource: the version that an earlier run learned.
    ///   - persisted: the ranges of an earlier run. They count only after the file has been inspected.
    package init(
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
        joining = Joining(isFromReplacedSource: isFromReplacedSource)
        self.patience = RetryBudget(seed: seed)
        comparison = VersionComparison(seed: seed)
        sources = SourceSelector(settings.url, target: settings.target, mirrors: settings.mirrors)
        link = ExpiringURL(settings)
    }

    // MARK: What the user wants

    /// Replaces the settings of a queued, paused or failed download. In every other state nothing changes.
    package mutating func retarget(_ settings: Settings, isFromReplacedSource: Bool) {
        switch state {
        case .queued, .paused, .failed:
            self.settings = settings
            let earlier = link
            sources = SourceSelector(settings.url, target: settings.target, mirrors: settings.mirrors)
            link = ExpiringURL(settings, after: earlier)
            if isFromReplacedSource { joining.noteReplacedSource() }
        default: break
        }
    }

    /// Adopts the stored version while the disk is being inspected.
    package mutating func takeOver(_ stored: StoredVersion) {
        guard state == .inspectingDisk else { return }
        let place = resource?.place
        resource = stored.resource
        if let isRepair = stored.isRepair { settings.isRepair = isRepair }
        // Keeps the place of a link that came a moment ago, because the store may not have the place yet.
        if self.resource?.place == nil { self.resource?.place = place }
    }

    package mutating func resume() -> [Action] {
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
            // The hold may already have stopped the step, so the step cannot go on. `.yield` queues the download when
            // the step ends, and a slot starts the download again.
            case .hold: wish = .yield
            case .run, .cancel, .yield: break
            }
            return []
        }
    }

    package mutating func stop(_ wish: Wish) -> [Action] {
        switch state {
        case .queued, .awaitingURL, .choosing: return settle(wish)
        case .connecting(let id, _), .comparing(let id, _): return [.close(id)] + settle(wish)
        case .transferring: return transfer.closeAll() + settle(wish)
        case .backingOff: return [.cancelTimer(restTimer.timer)] + settle(wish)
        case .verifying: return [.cancelVerification] + settle(wish)
        case .paused where wish == .pause && hold != nil:
            hold = nil
            return [.report]
        case .paused, .failed: return wish == .cancel ? settle(wish) : []
        case .inspectingDisk, .publishing:
            // These short steps must not be interrupted. The wish is kept until the step is done. A published file
            // completes the download whatever the wish.
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

    /// Keeps a wish until the current step is done. No wish replaces a cancellation, and neither a hold nor a yield
    /// replaces a pause or a hold.
    package mutating func keep(_ wish: Wish) {
        switch (self.wish, wish) {
        case (.cancel, _), (.pause, .yield), (.pause, .hold), (.hold, .yield), (.hold, .hold): break
        default: self.wish = wish
        }
    }

    /// Begins an attempt with the inspection of the disk.
    package mutating func recover() -> [Action] {
        restTimer.noteRecovery()
        state = .inspectingDisk
        return [.recover, .report]
    }

    /// Stops the download as wished, and forgets earlier wishes and holds. For `.run`, the state does not change.
    package mutating func settle(_ wish: Wish) -> [Action] {
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

    /// Ends a short step. A wish that came meanwhile takes precedence over `next`.
    mutating func settleOr(_ next: (inout DownloadMachine) -> [Action]) -> [Action] {
        wish == .run ? next(&self) : settle(wish)
    }
}
