internal import Foundation

extension DownloadMachine {
    /// Names one request; a late event of an earlier one is told apart by it.
    struct ConnectionID: Sendable, Hashable, Codable { let number: Int }

    enum State: Sendable, Equatable, Codable {
        /// Wants a slot.
        case queued
        /// Has one; what is on disk is being looked at.
        case inspectingDisk
        /// No request can be made before the application has named a link.
        case awaitingURL(AskID)
        /// Blocks of what is on disk are being chosen, which are to be compared before anything is joined to it.
        case choosing(ChoiceID)
        /// The body of a block's answer is being compared with what is on disk.
        case comparing(ConnectionID, RangeRequest)
        /// The first answer of a request is outstanding.
        case connecting(ConnectionID, RangeRequest)
        /// The answer was good; the file is being made ready for its body. The end of the connection waits its turn.
        case preparing(ConnectionID, Preparation, ended: ConnectionEnd?)
        /// Bytes arrive, over one connection or several.
        case transferring
        /// Waits before the next attempt.
        case backingOff(until: Instant, because: DownloadError)
        /// Every byte landed; the digest is being compared.
        case verifying
        /// The file is being synced and renamed.
        case publishing
        /// The user's wish, or a hold that ends by itself: see ``DownloadMachine/hold``.
        case paused
        case completed(path: String)
        case failed(DownloadError)
        /// Dropped by the user; nothing comes after it.
        case cancelled
    }

    /// What the file has to be ready for.
    struct Preparation: Sendable, Equatable, Codable {
        var resource: Resource
        /// Where the body goes.
        var offset: Int64
        /// Nothing on disk is of use: the store forgets it before the file does.
        var startsOver: Bool
        /// Bytes before `offset` that come again and must equal those on disk.
        var compare: Int64
        /// Where the answer said that its range ends, or bytes follow that are here already.
        var end: Int64?
        var contentDisposition: String?
        /// The URLs that a name may be taken from, best first.
        var nameSources: [URL]
        /// Further URLs of the file that the answer named.
        var mirrors: [Metalink.Source] = []
        /// What is known of the file once the bytes that come again have proved to be those on disk.
        var afterComparing: Resource?
        /// The number of the link that was asked.
        var link = 0
    }

    /// How a connection ended, with everything that it brought already on its way to the kernel or beyond.
    enum ConnectionEnd: Sendable, Equatable, Codable {
        /// The body was whole by its own framing.
        case finished(PersistedRanges)
        /// The mark is nil when no body was let in.
        case failed(TransportError, PersistedRanges?)
        /// The bytes that came again are not those on disk.
        case overlapDiffers
        case diskFailed(DiskError, PersistedRanges)
        /// It was never opened: no connection slot of the host is free.
        case noConnectionSlot
    }

    enum Event: Sendable, Equatable, Codable {
        case slotGranted
        /// What is known before a run: what other downloads have learned of the host, and when the link expires.
        case hostKnown(KnownHost?, linkExpiresAt: Instant?)
        /// What the download is to be was changed between two runs; while it runs nothing changes.
        case retargeted(Settings, isFromReplacedSource: Bool)
        /// The configuration was changed: what it says of attempts, disk space and connections.
        case reconfigured(retry: RetryPolicy, waitsForSpace: Bool, limits: Transfer.Limits)
        /// A download of higher priority gets the slot: this one waits again.
        case slotWithdrawn
        case pauseRequested
        case resumeRequested
        case cancelRequested
        /// Something that passes is in the way: it pauses until that has passed.
        case held(HoldReason)
        /// What was in the way is not any more.
        case holdEnded(HoldReason)
        /// The disk, or the quota, has no space for what comes next. The reason is nil where it never will have.
        case spaceMissing(HoldReason?, DownloadError)
        /// What is on disk and may be relied on, nil when nothing is; and the version that it is of, where the store was asked.
        case recovered(PersistedRanges?, of: StoredVersion? = nil)
        case headReceived(ConnectionID, ResponseHead, retryAfter: Duration?)
        /// The blocks that are to be compared before the resume.
        case blocksChosen(ChoiceID, [Range<Int64>])
        /// What is on disk could not be read to choose them.
        case blocksUnreadable(ChoiceID, DownloadError)
        case prepared(ConnectionID)
        case bytesLanded(PersistedRanges)
        case connectionEnded(ConnectionID, ConnectionEnd)
        /// A piece that was complete has been compared with its digest.
        case pieceChecked(Int, isRight: Bool)
        /// The application has named a link when it was asked.
        case sourceFound(AskID, Link)
        /// It could not, or not in time.
        case sourceFailed(AskID, DownloadError)
        /// It has named another one unasked.
        case sourceReplaced(Link)
        /// Another download needs a connection to one of these hosts.
        case connectionWanted(Set<Origin>)
        case timerFired(TimerID)
        case verified(Decision)
        case published(path: String)
        /// The finished file was given another name.
        case renamed(path: String)
        /// Something stands at the final name already, and is to be left alone; or another process has completed the download.
        case skipped(path: String)
        /// A step outside a connection failed: recovering, preparing, publishing.
        case stepFailed(DownloadError)
    }

    /// What the store says of the representation.
    struct StoredVersion: Sendable, Equatable, Codable {
        var resource: Resource?
        /// Whether nothing of what is here may be dropped; nil: as before.
        var isRepair: Bool?
    }

    /// What the machine cannot know: how many connection slots of each host are free for it, and whether a speed limit
    /// holds, since how fast the connections are then says nothing about them.
    struct Surroundings: Sendable, Equatable, Codable {
        var connectionSlots: [Origin: Int] = [:]
        var isHeldBack = false
    }

    struct TimerID: Sendable, Hashable, Codable { let number: Int }

    enum Decision: Sendable, Equatable, Codable {
        case right
        /// Nothing to compare with.
        case unchecked
        case mismatch(expected: DownloadRequest.Checksum, actual: DownloadRequest.Checksum)
    }

    enum Action: Sendable, Equatable, Codable {
        /// Look at the partial file: lock it, and say what it holds.
        case recover
        case open(ConnectionID, RangeRequest)
        /// Ask the application for a link.
        case askForSource(AskID, SourceQuery.Reason)
        /// Its answer is not wanted any more.
        case cancelSource(AskID)
        /// Choose the blocks that are compared before the resume, by what the disk holds.
        case chooseBlocks(ChoiceID, ComparisonPlan)
        case prepare(ConnectionID, Preparation)
        /// Let the body of this connection flow to `offset`.
        case startBody(ConnectionID, at: Int64, compare: Int64, limit: Int64?)
        /// Take nothing from `to` on any more: it is another connection's to bring.
        case shorten(ConnectionID, to: Int64)
        case close(ConnectionID)
        /// Compare a piece, all of which is here, with its digest.
        case checkPiece(Int)
        /// These bytes are wrong: the store forgets them.
        case forget(Range<Int64>)
        /// The host showed that it allows no more connections than this.
        case learnLimit(Int)
        /// This number of connections to the host was clearly faster than half of it.
        case learnWorth(Int)
        /// Sync and record how far the bytes have come.
        case checkpoint
        case startTimer(TimerID, after: Duration)
        case cancelTimer(TimerID)
        case verify(DownloadRequest.Checksum?)
        case cancelVerification
        case publish
        /// Put the bytes that have the wrong digest out of the way, under a name that says so.
        case setAside
        /// Delete the partial file.
        case discardPartial
        /// Close the partial file, which gives up its lock.
        case releaseFile
        /// The state changed: record it and tell the listeners.
        case report
    }

    /// What a machine is told: the options of the request, which read as its own properties, and what the downloader adds.
    @dynamicMemberLookup
    struct Settings: Sendable, Equatable {
        /// The request. Its URL is the present one, which the application may have named since.
        var request: DownloadRequest
        var retry = RetryPolicy()
        /// What is here was a file of the user's: nothing of it is dropped but pieces that are wrong.
        var isRepair = false
        /// Whether a full disk pauses the download until there is space, in place of ending it.
        var waitsForSpace = false
        var limits = Transfer.Limits()
        /// The application can be asked for another URL.
        var canAskForSource = false
        /// The application named the URL for this very download.
        var isLinkVouchedFor = false

        /// The limits of connections, with what the request says in place of the configuration's.
        var effectiveLimits: Transfer.Limits {
            var limits = limits
            if let most = request.maxConnections { limits.connections = min(max(most, 1), Self.mostConnections) }
            if let initial = request.initialConnections { limits.start = min(max(initial, 1), Self.mostConnections) }
            // Each connection would send the request once more.
            if request.method != .get { (limits.connections, limits.start) = (1, 1) }
            return limits
        }

        /// Most connections that a request may ask for.
        private static let mostConnections = 64

        subscript<Value>(dynamicMember option: WritableKeyPath<DownloadRequest, Value>) -> Value {
            get { request[keyPath: option] }
            set { request[keyPath: option] = newValue }
        }
    }
}

extension DownloadMachine.Event {
    /// The same, with what is known now of the bytes: the mark that a connection took along at its end may be older than what
    /// was found wrong since.
    func with(_ persisted: PersistedRanges) -> Self {
        switch self {
        case .connectionEnded(let id, .finished): .connectionEnded(id, .finished(persisted))
        case .connectionEnded(let id, .failed(let error, .some)): .connectionEnded(id, .failed(error, persisted))
        default: self
        }
    }
}
