public import Foundation

/// A download as it is at one moment.
///
/// `Codable` for messages and caches of an application. ``url`` is encoded as it is, and may hold a password or a token: what others
/// may read should not contain it.
public struct DownloadSnapshot: Sendable, Hashable, Identifiable {
    /// What a download does, as applications see it.
    public enum State: String, Sendable, Hashable, Codable, CaseIterable {
        /// Waits for a free slot.
        case queued
        /// Waits for the server's answer.
        case connecting
        /// Bytes arrive.
        case transferring
        /// Waits before the next attempt; see ``DownloadSnapshot/retryDelay``.
        case waiting
        /// Every byte is here; the digest is computed, the file synced and put under its name.
        case verifying
        /// The user's wish, or a pause that ends by itself: see ``DownloadSnapshot/holdReason``.
        case paused
        /// The file is complete, under its final name.
        case completed
        /// Gave up, and keeps what it has; see ``DownloadSnapshot/error``.
        case failed
        /// Dropped, with its bytes. The store has no record of it any more.
        case cancelled
    }

    /// Names the download in its store.
    public let id: DownloadID
    /// As text: a hundred thousand parsed URLs would weigh more than everything else.
    private let urlText: String
    /// The link that it is asked for by, fresh ones of the ``SourceProvider`` included; `haul-source:KEY` while there is none yet.
    public var url: URL { URL(string: urlText) ?? URL(fileURLWithPath: "/") }
    /// What it does at this moment.
    public let state: State
    /// Why it is paused, where that was not the user's wish; and what keeps a queued one from being started, beside its turn.
    public internal(set) var holdReason: HoldReason?
    /// Final path of the file; nil until a name is known.
    public let path: String?
    /// Bytes of the file that are here, those of earlier runs included.
    public internal(set) var receivedBytes: Int64
    /// Complete length in bytes; nil while nobody knows.
    public let totalBytes: Int64?
    /// Over the last five seconds; 0 when nothing arrives.
    public let bytesPerSecond: Double
    /// Why the download failed, what it is held for, or what the attempt before this wait failed of.
    public let error: DownloadError?
    /// When the wait ends, as time from the snapshot on.
    public let retryDelay: Duration?
    /// The connections that bring bytes now, in the order in which they were opened.
    public let connections: [Connection]
    /// The stretches of the file that are here, in order; empty unless bytes arrive.
    public let receivedRanges: [Range<Int64>]
    /// See ``DownloadRequest/key``.
    public let key: String?
    /// See ``DownloadRequest/group``.
    public let group: String?
    /// See ``DownloadRequest/owner``.
    public let owner: String?
    /// See ``DownloadRequest/metadata``.
    public let metadata: Metadata?
    /// See ``DownloadRequest/priority``.
    public let priority: Int
    /// When it was first added.
    public let addedAt: Date
    /// When it first had a slot.
    public let startedAt: Date?
    /// When its last run ended; nil while it waits or runs.
    public let endedAt: Date?
    /// How the finished file was proved; nil unless ``state-swift.property`` is completed.
    public let proof: CompletedDownload.Proof?

    /// A connection while bytes arrive.
    public struct Connection: Sendable, Hashable, Codable {
        /// The host that was asked, before redirects.
        public let host: String
        /// What it is to bring yet.
        public let remainingRange: Range<Int64>
        /// Over the last two seconds.
        public let bytesPerSecond: Double

        /// A connection for tests and previews.
        ///
        /// - Parameters:
        ///   - remainingRange: in bytes of the file.
        ///   - bytesPerSecond: 0 when nothing arrives.
        public init(host: String, remainingRange: Range<Int64>, bytesPerSecond: Double = 0) {
            self.host = host
            self.remainingRange = remainingRange
            self.bytesPerSecond = bytesPerSecond
        }
    }

    /// A snapshot for tests and previews; a downloader makes its own. Nothing is checked, and what is not named is absent.
    ///
    /// - Parameters:
    ///   - receivedBytes: bytes of the file that are on disk.
    ///   - totalBytes: complete length in bytes; nil while it is unknown.
    ///   - bytesPerSecond: 0 when nothing arrives.
    public init(
        id: DownloadID = DownloadID(),
        url: URL,
        state: State = .queued,
        holdReason: HoldReason? = nil,
        path: String? = nil,
        receivedBytes: Int64 = 0,
        totalBytes: Int64? = nil,
        bytesPerSecond: Double = 0,
        error: DownloadError? = nil,
        retryDelay: Duration? = nil,
        connections: [Connection] = [],
        receivedRanges: [Range<Int64>] = [],
        key: String? = nil,
        group: String? = nil,
        owner: String? = nil,
        metadata: Metadata? = nil,
        priority: Int = 0,
        addedAt: Date = Date(),
        startedAt: Date? = nil,
        endedAt: Date? = nil,
        proof: CompletedDownload.Proof? = nil
    ) {
        self.id = id
        urlText = url.absoluteString
        (self.state, self.holdReason, self.path) = (state, holdReason, path)
        (self.receivedBytes, self.totalBytes, self.bytesPerSecond) = (receivedBytes, totalBytes, bytesPerSecond)
        (self.error, self.retryDelay) = (error, retryDelay)
        (self.connections, self.receivedRanges) = (connections, receivedRanges)
        (self.key, self.group, self.owner, self.metadata) = (key, group, owner, metadata)
        self.priority = priority
        (self.addedAt, self.startedAt, self.endedAt) = (addedAt, startedAt, endedAt)
        self.proof = proof
    }

    /// What there is to say of a record; the rest is what happens at this moment.
    init(
        _ id: DownloadID,
        _ record: DownloadRecord,
        state: State,
        path: String? = nil,
        receivedBytes: Int64,
        totalBytes: Int64?,
        bytesPerSecond: Double = 0,
        error: DownloadError? = nil,
        retryDelay: Duration? = nil,
        connections: [Connection] = [],
        receivedRanges: [Range<Int64>] = []
    ) {
        self.id = id
        urlText = record.wishes.link ?? record.url
        self.state = state
        holdReason = state == .paused ? record.hold : nil
        self.path = path ?? record.finalPath ?? record.file
        self.receivedBytes = receivedBytes
        self.totalBytes = totalBytes
        self.bytesPerSecond = bytesPerSecond
        self.error = error
        self.retryDelay = retryDelay
        self.connections = connections
        self.receivedRanges = receivedRanges
        key = record.key
        group = record.groupName
        owner = record.belongsTo
        metadata = record.metadata.map(Metadata.init(json:))
        priority = record.priority
        addedAt = record.createdAt
        startedAt = record.startedAt
        endedAt = record.finishedAt
        proof = state == .completed ? record.proof ?? CompletedDownload.Proof.none : nil
    }

    /// A download that is at rest, or waits, as the store has it.
    init(_ id: DownloadID, _ record: DownloadRecord, receivedBytes: Int64) {
        let state: State =
            switch record.status {
            case .queued, .publishing: .queued
            case .paused: .paused
            case .failed: record.error == nil ? .queued : .failed
            case .completed: .completed
            }
        let size = record.finished?.size
        self.init(
            id,
            record,
            state: state,
            receivedBytes: size ?? receivedBytes,
            totalBytes: size ?? record.total,
            error: state == .failed || (state == .paused && record.hold != nil) ? record.error : nil
        )
    }

    /// The same download, now in another state of rest.
    func backingOff(_ state: State) -> DownloadSnapshot {
        DownloadSnapshot(self, state)
    }

    private init(_ other: DownloadSnapshot, _ state: State) {
        (id, urlText, path) = (other.id, other.urlText, other.path)
        (receivedBytes, totalBytes) = (other.receivedBytes, other.totalBytes)
        (key, group, owner, metadata, priority) = (other.key, other.group, other.owner, other.metadata, other.priority)
        (addedAt, startedAt) = (other.addedAt, other.startedAt)
        self.state = state
        endedAt = state == .queued ? nil : other.endedAt
        (holdReason, error, retryDelay, proof) = (nil, nil, nil, nil)
        (bytesPerSecond, connections, receivedRanges) = (0, [], [])
    }

    /// The file's name for display: that of ``path``, or else the one in the URL, or else the URL's host. It is no promise of what
    /// the file will be called while ``path`` is nil.
    public var name: String {
        if let path, !path.isEmpty { return FilePaths.name(of: path) }
        let url = url
        return FileName.from(url: url) ?? url.host ?? key ?? id.description
    }

    /// From 0 to 1; nil while the total is unknown.
    public var fraction: Double? {
        guard let totalBytes else { return nil }
        return totalBytes == 0 ? 1 : max(0, min(1, Double(receivedBytes) / Double(totalBytes)))
    }

    /// Time until the last byte at the present speed; nil while total or speed are unknown.
    public var timeLeft: Duration? {
        guard let totalBytes, bytesPerSecond > 0, state == .transferring else { return nil }
        return Self.time(for: Double(totalBytes) - Double(receivedBytes), at: bytesPerSecond)
    }

    /// How long so many bytes take. A server may announce any length, and `Duration` traps beyond its own range: a thousand
    /// years stand for everything longer.
    public static func time(for bytes: Double, at bytesPerSecond: Double) -> Duration {
        let seconds = max(0, bytes) / bytesPerSecond
        return .seconds(seconds.isFinite ? min(seconds, 3.2e10) : 3.2e10)
    }
}

/// What a finished download left behind.
public struct CompletedDownload: Sendable, Hashable, Codable {
    /// Of the download.
    public let id: DownloadID
    /// Of the file, absolute.
    public let path: String
    /// The file's size.
    public let bytes: Int64
    /// How the file was proved to be the one that was meant.
    public enum Proof: String, Sendable, Hashable, Codable {
        /// Its digest is the one that was given, or that the server announced.
        case digest
        /// The framing of the response (its `Content-Length`, or the last chunk) says that it is whole.
        case length
        /// Nothing but the end of the connection said that it is whole.
        case none
    }
    /// See ``Proof``.
    public let proof: Proof
    /// True when the file had been completed by an earlier run and stands there unchanged, or was to be left alone.
    public let alreadyExisted: Bool

    /// A result for tests and previews; a downloader makes its own.
    ///
    /// - Parameter bytes: the file's size.
    public init(
        id: DownloadID = DownloadID(),
        path: String,
        bytes: Int64,
        proof: Proof = .length,
        alreadyExisted: Bool = false
    ) {
        self.id = id
        self.path = path
        self.bytes = bytes
        self.proof = proof
        self.alreadyExisted = alreadyExisted
    }
}

/// How a run of a download ended.
public enum DownloadOutcome: Sendable, Hashable {
    /// The file is there.
    case completed(CompletedDownload)
    /// It gave up, for this reason; resuming it begins another run.
    case failed(DownloadError)
    /// It was cancelled.
    case cancelled
}

/// What listeners of a download are told.
public enum DownloadEvent: Sendable, Hashable {
    /// The state is another one now. Of a listener that stops reading, the oldest beyond 256 are dropped; the last is not.
    case changed(DownloadSnapshot)
    /// More bytes are here. A slow listener sees the latest only.
    case progressed(DownloadSnapshot)
    /// The run is over. The last element, exactly once.
    case ended(DownloadOutcome)
}
