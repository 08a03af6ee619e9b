public import Foundation

/// The state of a download at one moment.
///
/// `Codable` for messages and caches of an application. ``url`` and ``finalURL`` may hold a password or a token: they
/// are encoded masked unless the encoder has ``Swift/CodingUserInfoKey/keepsSecrets``.
public struct DownloadSnapshot: Sendable, Hashable, Identifiable {
    /// The phase that a download is in.
    public enum State: String, Sendable, Hashable, Codable, CaseIterable {
        /// Waits for a free slot.
        case queued
        /// Has a slot: opens its partial file, gets a URL, sends the request and waits for the response head.
        case connecting
        /// Bytes arrive.
        case transferring
        /// Waits before the next attempt; see ``DownloadSnapshot/retryDelay``. For a wait of more than 2 s the download
        /// gives up its slot, and is queued afterwards if none is free.
        case waiting
        /// Every byte has arrived; the digest is computed, the file synced and moved to its final name.
        case verifying
        /// Paused by the user, or held until a condition ends: see ``DownloadSnapshot/holdReason``.
        case paused
        /// The file is complete, verified and under its final name.
        case completed
        /// The run ended with an error: see ``DownloadSnapshot/error``.
        case failed
        /// Cancelled or removed: the store no longer has the download.
        case cancelled

        /// Whether the download works on its file or waits for its next attempt. The web page's `lists.js` has the same
        /// list.
        package var isActive: Bool {
            switch self {
            case .connecting, .transferring, .waiting, .verifying: true
            case .queued, .paused, .completed, .failed, .cancelled: false
            }
        }

        /// Whether the run is over.
        package var hasEnded: Bool {
            switch self {
            case .completed, .failed, .cancelled: true
            case .queued, .connecting, .transferring, .waiting, .verifying, .paused: false
            }
        }

        package static let active = Set(allCases.filter(\.isActive))
    }

    /// The id of the download, the same in all of its snapshots.
    public let id: DownloadID
    /// The URL as text, because a hundred thousand parsed URLs would take more memory than everything else.
    private let urlText: String
    /// The requested URL: that of the request, or the last one from the ``SourceProvider`` or
    /// ``Download/replaceSource(_:)``. The placeholder `haul-source:KEY` until a request without a URL gets one.
    public var url: URL { URL(string: urlText) ?? URL(fileURLWithPath: "/") }
    private let finalURLText: String?
    /// The URL that redirects led to for the received bytes, without user info. `nil` if there were no redirects, or
    /// nothing has been received. Requests still go to ``url``. May hold a token: show ``Foundation/URL/masked``.
    public var finalURL: URL? { finalURLText.flatMap { URL(string: $0) } }
    /// The phase that the download is in.
    public let state: State
    /// Why a paused download is held, or why a queued download cannot start even when its turn comes; `nil` when
    /// nothing but the user or the queue delays it.
    public package(set) var holdReason: HoldReason?
    /// Final path of the file; `nil` until the name is known.
    public let path: String?
    /// The name that the request suggests for the file: ``DownloadRequest/suggestedName``.
    package let suggestedName: String?
    /// Bytes of the file that are received and written, including those of earlier runs.
    public package(set) var receivedBytes: Int64
    /// Complete length in bytes; `nil` while it is unknown.
    public let totalBytes: Int64?
    /// Bytes per second over the last five seconds; 0 when nothing arrives.
    public let bytesPerSecond: Double
    /// Why the download failed or is held, or why the attempt before the present wait failed; `nil` otherwise.
    public let error: DownloadError?
    /// Delay before the next attempt, measured from when the snapshot was taken; `nil` unless ``state`` is
    /// ``State/waiting``.
    public let retryDelay: Duration?
    /// The open connections, in the order in which they were opened; empty unless ``state`` is ``State/transferring``.
    public let connections: [Connection]
    /// The byte ranges of the file that have been received, in order; empty unless ``state`` is ``State/transferring``.
    public let receivedRanges: [Range<Int64>]
    /// Progress of a film; `nil` for other files, and while the download does not run. If this is not `nil`,
    /// ``totalBytes`` is an estimate.
    public let stream: Stream?
    /// The application's name for the download: ``DownloadRequest/key``.
    public let key: String?
    /// The name of its group: ``DownloadRequest/group``.
    public let group: String?
    /// The label of its owner: ``DownloadRequest/owner``.
    public let owner: String?
    /// The application's own data: ``DownloadRequest/metadata``.
    public let metadata: DownloadRequest.Metadata?
    /// Downloads of higher priority start first; see ``DownloadRequest/priority``.
    public let priority: Int
    /// When the download was added.
    public let addedAt: Date
    /// When the download first got a slot; `nil` before that.
    public let startedAt: Date?
    /// When the last run ended; `nil` before the first end and while a run has a slot.
    public let endedAt: Date?
    /// The proof of the finished file; `nil` unless ``state-swift.property`` is completed.
    public let proof: CompletedDownload.Proof?
    /// Gaps of a finished film: ``CompletedDownload/gaps``. Empty unless ``state-swift.property`` is completed.
    public let gaps: [String]

    /// An open connection of a transfer.
    public struct Connection: Sendable, Hashable, Codable {
        /// The host of the requested URL, before redirects.
        public let host: String
        /// The byte range that the connection has still to deliver.
        public let remainingRange: Range<Int64>
        /// Bytes per second over the last two seconds.
        public let bytesPerSecond: Double

        /// - Parameters:
        ///   - host: host name of the source.
        ///   - remainingRange: in bytes of the file.
        ///   - bytesPerSecond: 0 when nothing arrives.
        package init(host: String, remainingRange: Range<Int64>, bytesPerSecond: Double = 0) {
            self.host = host
            self.remainingRange = remainingRange
            self.bytesPerSecond = bytesPerSecond
        }
    }

    /// The segments of a film: of a download whose URL leads to a playlist of HTTP Live Streaming.
    public struct Stream: Sendable, Hashable, Codable {
        /// Number of segments that the playlists of all tracks list. Grows while ``isLive``.
        public let segments: Int
        /// Number of received segments of all tracks.
        public let receivedSegments: Int
        /// Duration of the listed segments of the first track, in seconds.
        public let seconds: Double
        /// Duration of the received segments of the first track, in seconds.
        public let receivedSeconds: Double
        /// Whether more segments may be listed.
        public let isLive: Bool

        /// A value for tests and previews. Each parameter is the property of its name.
        public init(
            segments: Int,
            receivedSegments: Int,
            seconds: Double,
            receivedSeconds: Double,
            isLive: Bool = false
        ) {
            (self.segments, self.receivedSegments) = (segments, receivedSegments)
            (self.seconds, self.receivedSeconds) = (seconds, receivedSeconds)
            self.isLive = isLive
        }
    }

    /// A snapshot for tests and previews; a downloader makes its own. Each parameter is the property of its name, with
    /// the same unit. Nothing is checked.
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
        metadata: DownloadRequest.Metadata? = nil,
        priority: Int = 0,
        addedAt: Date = Date(),
        startedAt: Date? = nil,
        endedAt: Date? = nil,
        proof: CompletedDownload.Proof? = nil,
        gaps: [String] = [],
        finalURL: URL? = nil,
        stream: Stream? = nil,
        suggestedName: String? = nil
    ) {
        self.id = id
        self.suggestedName = suggestedName
        (urlText, finalURLText) = (url.absoluteString, finalURL?.absoluteString)
        (self.state, self.holdReason, self.path) = (state, holdReason, path)
        (self.receivedBytes, self.totalBytes, self.bytesPerSecond) = (receivedBytes, totalBytes, bytesPerSecond)
        (self.error, self.retryDelay) = (error, retryDelay)
        (self.connections, self.receivedRanges) = (connections, receivedRanges)
        (self.key, self.group, self.owner, self.metadata) = (key, group, owner, metadata)
        self.priority = priority
        (self.addedAt, self.startedAt, self.endedAt) = (addedAt, startedAt, endedAt)
        (self.proof, self.gaps) = (proof, gaps)
        self.stream = stream
    }

    /// Returns a snapshot of the same download in another state, in which the download does not run. The result has no
    /// error, hold reason, proof, gaps or values of a running transfer.
    package func atRest(_ state: State) -> DownloadSnapshot {
        DownloadSnapshot(self, state)
    }

    private init(_ other: DownloadSnapshot, _ state: State) {
        (id, urlText, finalURLText, path) = (other.id, other.urlText, other.finalURLText, other.path)
        suggestedName = other.suggestedName
        (receivedBytes, totalBytes) = (other.receivedBytes, other.totalBytes)
        (key, group, owner, metadata, priority) = (other.key, other.group, other.owner, other.metadata, other.priority)
        (addedAt, startedAt) = (other.addedAt, other.startedAt)
        self.state = state
        endedAt = state == .queued ? nil : other.endedAt
        (holdReason, error, retryDelay, proof) = (nil, nil, nil, nil)
        gaps = []
        (bytesPerSecond, connections, receivedRanges, stream) = (0, [], [], nil)
    }

    /// The file's name for display: the name in ``path``, else ``DownloadRequest/suggestedName`` made safe, else the
    /// name in the URL, else the URL's host, else ``key`` or ``id``. While ``path`` is `nil`, the file may still get
    /// another name.
    public var name: String {
        if let path, !path.isEmpty { return FilePaths.name(of: path) }
        if let name = suggestedName.flatMap(FileName.safeTitle) { return name }
        let url = url
        return FileName.from(url: url) ?? url.host ?? key ?? id.description
    }

    /// Progress from 0 to 1; `nil` while the complete length is unknown.
    public var fraction: Double? {
        guard let totalBytes else { return nil }
        return totalBytes == 0 ? 1 : max(0, min(1, Double(receivedBytes) / Double(totalBytes)))
    }

    /// Time to the last byte at the current speed. `nil` unless bytes arrive and the complete length is known.
    public var timeLeft: Duration? {
        guard let totalBytes, bytesPerSecond > 0, state == .transferring else { return nil }
        return Self.time(for: Double(totalBytes) - Double(receivedBytes), at: bytesPerSecond)
    }

    /// Returns the time that a number of bytes takes at a speed in bytes per second. The result is at most 3.2 × 10¹⁰
    /// seconds, about a thousand years, also at speed 0: a server may announce any length, and `Duration` traps on
    /// overflow.
    package static func time(for bytes: Double, at bytesPerSecond: Double) -> Duration {
        let seconds = max(0, bytes) / bytesPerSecond
        return .seconds(seconds.isFinite ? min(seconds, 3.2e10) : 3.2e10)
    }
}

/// The file of a completed download. Encoded with a masked URL unless the encoder has
/// ``Swift/CodingUserInfoKey/keepsSecrets``.
public struct CompletedDownload: Sendable, Hashable, Codable {
    /// The id of the download.
    public let id: DownloadID
    /// Absolute path of the file.
    public let path: String
    /// Length of the file in bytes.
    public let bytes: Int64
    /// How the file was proved to be complete and correct.
    public enum Proof: String, Sendable, Hashable, Codable {
        /// Its digest equals the digest that the request gave or the server announced.
        case digest
        /// The framing of the response (`Content-Length` or the last chunk, RFC 9112 §6) marks it as complete.
        case length
        /// Only the end of the connection marks it as complete.
        case none
    }
    /// The strongest proof that the run had.
    public let proof: Proof
    /// `true` when an earlier run completed the file and it is unchanged, or when an existing file was kept
    /// (``DownloadRequest/ConflictPolicy/skip``).
    public let alreadyExisted: Bool
    /// The URL that redirects led to for the bytes of the file, without user info; `nil` without redirects. May hold a
    /// token: show ``Foundation/URL/masked``.
    public let finalURL: URL?
    /// Missing parts of a film, in sentences for people; empty for every other file. First come the gaps, which
    /// ``DownloadRequest/Stream/allowsGaps`` permits: one line for each of the first twenty reasons, with the missing
    /// seconds and the numbers of the first segments. Then comes one line for each audio track that the server lists as
    /// clearly shorter than the film.
    public let gaps: [String]
    /// Digest of the file that the run computed while the file came; `nil` if it computed none.
    package var digest: DownloadRequest.Checksum?
    /// The entity tag, or else the date of the last change, of the version that the run has; `nil` if the server named
    /// none, or nothing that another request can ask for.
    package var validator: String?

    /// A result for tests and previews; a downloader makes its own. Each parameter is the property of its name.
    public init(
        id: DownloadID = DownloadID(),
        path: String,
        bytes: Int64,
        proof: Proof = .length,
        alreadyExisted: Bool = false,
        finalURL: URL? = nil,
        gaps: [String] = []
    ) {
        self.id = id
        self.path = path
        self.bytes = bytes
        self.proof = proof
        self.alreadyExisted = alreadyExisted
        self.finalURL = finalURL
        self.gaps = gaps
    }
}

/// The outcome of a run of a download.
public enum DownloadOutcome: Sendable, Hashable {
    /// The file is complete and under its final name.
    case completed(CompletedDownload)
    /// The run ended without a file; received bytes are kept.
    case failed(DownloadError)
    /// The download was cancelled: its bytes are deleted.
    case cancelled
}

/// An event of one download.
public enum DownloadEvent: Sendable, Hashable {
    /// The state has changed. A listener that is more than 256 events behind loses the oldest changes, but never the
    /// last.
    case changed(DownloadSnapshot)
    /// More bytes have been received. A slow listener gets only the latest report.
    case progressed(DownloadSnapshot)
    /// The run has ended. The last event of a run, sent exactly once.
    case ended(DownloadOutcome)
}

// The compiler writes `init(from:)` and `encode(to:)` of `CompletedDownload`. For its URL they call the functions
// below, which only this file sees.

extension KeyedDecodingContainer {
    fileprivate func decodeIfPresent(_ type: URL.Type, forKey key: Key) throws -> URL? {
        try decodeIfPresent(CodedURL.self, forKey: key)?.url
    }
}

extension KeyedEncodingContainer {
    fileprivate mutating func encodeIfPresent(_ url: URL?, forKey key: Key) throws {
        try encodeIfPresent(url.map { CodedURL($0) }, forKey: key)
    }
}
