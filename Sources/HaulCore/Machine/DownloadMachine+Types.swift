package import Foundation

extension DownloadMachine {
    /// Identifies one request, so that late events of an earlier request are recognized.
    package struct ConnectionID: Sendable, Hashable, Codable { let number: Int }

    /// Indirect, because some states contain a large request or answer, and the state is read often.
    package indirect enum State: Sendable, Equatable, Codable {
        /// Waits for a slot.
        case queued
        /// Has a slot. The disk is being inspected.
        case inspectingDisk
        /// Waits for the application to name a link, without which no request can be made.
        case awaitingURL(AskID)
        /// Blocks on the disk are being chosen for a comparison before any byte is joined.
        case choosing(ChoiceID)
        /// A block on the disk is being compared with the body of an answer.
        case comparing(ConnectionID, RangeRequest)
        /// The request has been sent, and its answer is outstanding.
        case connecting(ConnectionID, RangeRequest)
        /// The answer was good, and the file is being prepared for its body. `ended` keeps the end of the connection
        /// until the file is prepared.
        case preparing(ConnectionID, Preparation, ended: ConnectionEnd?)
        /// Bytes arrive, over one connection or several.
        case transferring
        /// Waits before the next attempt, until `until`.
        case backingOff(until: Instant, because: DownloadError)
        /// All bytes have arrived. The digest is being compared.
        case verifying
        /// The file is being synced and renamed.
        case publishing
        /// Paused by the user, or by a hold that ends by itself: see ``DownloadMachine/hold``.
        case paused
        case completed(path: String)
        case failed(DownloadError)
        /// Cancelled by the user. No other state follows.
        case cancelled
    }

    /// Requirements on the file before a body is written.
    package struct Preparation: Sendable, Equatable, Codable {
        package var resource: Resource
        /// Offset of the body in the file.
        package var offset: Int64
        /// Whether the bytes on the disk are dropped. The store forgets them before the file does.
        package var startsOver: Bool
        /// Number of bytes before `offset` that arrive again and must equal those on the disk.
        package var compare: Int64
        /// End of the answer's range, or start of the next bytes on the disk, whichever comes first; `nil` if unknown.
        package var end: Int64?
        package var contentDisposition: String?
        /// URLs that the file name may be taken from, best first.
        package var nameSources: [URL]
        /// Mirrors that the answer named.
        package var mirrors: [Metalink.Source] = []
        /// New description of the representation, valid once the overlap has proved equal to the bytes on the disk.
        var afterComparing: Resource?
        /// Number of the link that the request was sent over (``ExpiringURL/number``).
        package var link = 0
    }

    /// End of a connection. The kernel already has all bytes of the connection, or is about to get them.
    package enum ConnectionEnd: Sendable, Equatable, Codable {
        /// The body was complete by its own framing.
        case finished(PersistedRanges)
        /// The transport failed. The ranges are `nil` if no body was being written.
        case failed(TransportError, PersistedRanges?)
        /// The overlap differs from the bytes on the disk, or from those of another connection.
        case overlapDiffers
        case diskFailed(DiskError, PersistedRanges)
        /// The connection was never opened, because no connection slot of the host is free.
        case noConnectionSlot
    }

    /// Indirect, because events are large and pass through several values.
    package indirect enum Event: Sendable, Equatable, Codable {
        case slotGranted
        /// Facts known before a run: what other downloads have learned about the host, and when the link expires.
        case hostKnown(KnownHost?, linkExpiresAt: Instant?)
        /// The settings were replaced. Changes nothing unless the download is queued, paused or failed.
        case retargeted(Settings, isFromReplacedSource: Bool)
        /// The configuration of attempts, disk space and connections was changed.
        case reconfigured(retry: RetryPolicy, waitsForSpace: Bool, limits: Transfer.Limits)
        /// A download of higher priority gets the slot. This one is queued again.
        case slotWithdrawn
        case pauseRequested
        case resumeRequested
        case cancelRequested
        /// A temporary condition holds the download until the condition has passed.
        case held(HoldReason)
        /// The condition of a hold has passed.
        case holdEnded(HoldReason)
        /// The disk or the quota lacks space for the next bytes. The reason is `nil` if there will never be enough
        /// space. The stored version is there if the store was queried before the lack was found.
        case spaceMissing(HoldReason?, DownloadError, of: StoredVersion? = nil)
        /// The disk was inspected: the reliable ranges, or `nil` if there are none, and the stored version if the store
        /// was queried.
        case recovered(PersistedRanges?, of: StoredVersion? = nil)
        case headReceived(ConnectionID, ResponseHead, retryAfter: Duration?)
        /// The blocks to compare before the resume.
        case blocksChosen(ChoiceID, [Range<Int64>])
        /// The disk could not be read to choose the blocks.
        case blocksUnreadable(ChoiceID, DownloadError)
        case prepared(ConnectionID)
        case bytesLanded(PersistedRanges)
        case connectionEnded(ConnectionID, ConnectionEnd)
        /// A complete piece has been compared with its digest.
        case pieceChecked(Int, isRight: Bool)
        /// The application named a link after it was asked.
        case sourceFound(AskID, Link)
        /// The application named no link, or not in time.
        case sourceFailed(AskID, DownloadError)
        /// The application named another link without being asked.
        case sourceReplaced(Link)
        /// Readers of the unfinished file wait at these positions, newest reader first. Replaces the earlier positions.
        case readersWait([Int64])
        /// Another download needs a connection to one of these hosts.
        case connectionWanted(Set<Origin>)
        case timerFired(TimerID)
        /// The file of a stream was put together from its log, and has taken the place of the log.
        case assembled(Resource, PersistedRanges)
        case verified(Decision)
        case published(path: String)
        /// The finished file was renamed.
        case renamed(path: String)
        /// An existing file completes the download: the file that the conflict policy keeps at the final name, or the
        /// file of another process or of another download for the same request.
        case skipped(path: String)
        /// A step outside a connection failed: recovering, preparing, checking a piece, assembling, verifying or
        /// publishing.
        case stepFailed(DownloadError)
    }

    /// The version of the file as the store has it.
    package struct StoredVersion: Sendable, Equatable, Codable {
        package var resource: Resource?
        /// New value of ``DownloadMachine/Settings/isRepair``; `nil` for no change.
        package var isRepair: Bool?

        package init(resource: Resource? = nil, isRepair: Bool? = nil) {
            self.resource = resource
            self.isRepair = isRepair
        }
    }

    /// Facts from outside the machine: the free connection slots of each host, and what slows the download beside its
    /// connections. Under a speed limit, measured speeds say nothing about the connections.
    package struct Surroundings: Sendable, Equatable, Codable {
        package var connectionSlots: [Origin: Int] = [:]
        package var isHeldBack = false
        /// Number of additional connections of all downloads; `nil` if it was not counted. No early connection is opened
        /// then.
        package var additionalConnections: Int?
        /// Time in which the write thread worked on the file, and in which all processors were busy; `nil` for no change.
        package var localWork: Duration?

        package init(
            connectionSlots: [Origin: Int] = [:],
            isHeldBack: Bool = false,
            additionalConnections: Int? = nil,
            localWork: Duration? = nil
        ) {
            self.connectionSlots = connectionSlots
            self.isHeldBack = isHeldBack
            self.additionalConnections = additionalConnections
            self.localWork = localWork
        }
    }

    package struct TimerID: Sendable, Hashable, Codable {
        package let number: Int

        package init(number: Int) {
            self.number = number
        }
    }

    package enum Decision: Sendable, Equatable, Codable {
        case right
        /// There is no digest to compare with.
        case unchecked
        case mismatch(expected: DownloadRequest.Checksum, actual: DownloadRequest.Checksum)
    }

    package enum Action: Sendable, Equatable, Codable {
        /// Lock the partial file and report its ranges.
        case recover
        case open(ConnectionID, RangeRequest)
        /// Ask the application for a link.
        case askForSource(AskID, SourceQuery.Reason)
        /// Cancel the request for a link.
        case cancelSource(AskID)
        /// Choose the blocks to compare before the resume, by the contents on the disk.
        case chooseBlocks(ChoiceID, ComparisonPlan)
        case prepare(ConnectionID, Preparation)
        /// Write the body of this connection from offset `at` on, at most `limit` bytes. Before that, compare the
        /// `compare` bytes of overlap.
        case startBody(ConnectionID, at: Int64, compare: Int64, limit: Int64?)
        /// Write the body of this additional connection from offset `at` on, at most `limit` bytes. Its first `repeated`
        /// bytes belong before `at`. They are compared with those of the connection that brings them, whichever comes
        /// first.
        case startBodyAtSeam(ConnectionID, at: Int64, repeated: Int64, limit: Int64)
        /// Take no bytes from `to` on. Another connection brings them.
        case shorten(ConnectionID, to: Int64)
        case close(ConnectionID)
        /// Compare a complete piece with its digest.
        case checkPiece(Int)
        /// Make the store forget these bytes, which are wrong.
        case forget(Range<Int64>)
        /// Remember that the host allows no more connections than this.
        case learnLimit(Int)
        /// Remember that this number of connections to the host was clearly faster than half the number.
        case learnWorth(Int)
        /// Remember that the host sent two versions of a file under one weak validator.
        case learnChangeUnderOneName
        /// Sync the partial file and record its ranges.
        case checkpoint
        case startTimer(TimerID, after: Duration)
        case cancelTimer(TimerID)
        /// Put the file of a stream together from its log, the partial file.
        case assemble
        case verify(DownloadRequest.Checksum?)
        case cancelVerification
        case publish
        /// Give the partial file of a repair its final name, and any other partial file a name that marks its wrong
        /// digest.
        case setAside
        /// Delete the partial file. If it was a file of the user before the download, give it its name back instead.
        case discardPartial
        /// Close the partial file, which releases its lock.
        case releaseFile
        /// Record the new state and tell the listeners.
        case report
    }

    /// Settings of a machine: the request, whose options are readable as members of this type, and values of the
    /// downloader.
    @dynamicMemberLookup
    package struct Settings: Sendable, Equatable {
        /// The request with the current URL, which the application may have replaced.
        package var request: DownloadRequest
        package var retry = RetryPolicy()
        /// Whether the bytes on the disk were a file of the user. Only wrong pieces of such a file are dropped.
        package var isRepair = false
        /// Whether the download waits for space when the disk is full, instead of failing.
        package var waitsForSpace = false
        package var limits = Transfer.Limits()
        /// Whether the application can be asked for another URL.
        package var canAskForSource = false
        /// Whether the application named the URL for this particular download, and so guarantees that it leads to the
        /// same file.
        package var isLinkVouchedFor = false

        package init(
            request: DownloadRequest,
            retry: RetryPolicy = RetryPolicy(),
            isRepair: Bool = false,
            waitsForSpace: Bool = false,
            limits: Transfer.Limits = Transfer.Limits(),
            canAskForSource: Bool = false,
            isLinkVouchedFor: Bool = false
        ) {
            self.request = request
            self.retry = retry
            self.isRepair = isRepair
            self.waitsForSpace = waitsForSpace
            self.limits = limits
            self.canAskForSource = canAskForSource
            self.isLinkVouchedFor = isLinkVouchedFor
        }

        /// The limits of connections, where values of the request replace those of the configuration.
        package var effectiveLimits: Transfer.Limits {
            var limits = limits
            if let most = request.maxConnections { limits.connections = min(max(most, 1), Self.mostConnections) }
            if let initial = request.initialConnections { limits.start = min(max(initial, 1), Self.mostConnections) }
            // Every additional connection would send the POST request again.
            if request.method != .get { (limits.connections, limits.start) = (1, 1) }
            return limits
        }

        /// Maximum number of connections that a request may ask for.
        private static let mostConnections = 64

        package subscript<Value>(dynamicMember option: WritableKeyPath<DownloadRequest, Value>) -> Value {
            get { request[keyPath: option] }
            set { request[keyPath: option] = newValue }
        }
    }
}

extension DownloadMachine.Event {
    /// Returns the event with current ranges. The ranges from the end of a connection may contain bytes that were found
    /// wrong since.
    package func with(_ persisted: PersistedRanges) -> Self {
        switch self {
        case .connectionEnded(let id, .finished): .connectionEnded(id, .finished(persisted))
        case .connectionEnded(let id, .failed(let error, .some)): .connectionEnded(id, .failed(error, persisted))
        default: self
        }
    }
}
