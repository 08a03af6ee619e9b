public import Foundation

/// A download as it is at one moment.
public struct DownloadSnapshot: Sendable, Hashable {
    public enum State: String, Sendable, Hashable, Codable, CaseIterable {
        /// Waits for a free slot.
        case queued
        /// Waits for the server's answer.
        case connecting
        /// Bytes arrive.
        case transferring
        /// Waits before the next attempt; see ``DownloadSnapshot/waitsBecause``.
        case waiting
        /// Every byte is here; the digest is computed, the file synced and put under its name.
        case verifying
        case paused
        case completed
        case failed
        case cancelled
    }

    public let id: DownloadID
    public let url: URL
    public let state: State
    /// Final path of the file; nil until a name is known.
    public let path: String?
    /// Bytes of the file that are here, those of earlier runs included.
    public let receivedBytes: Int64
    /// Complete length in bytes; nil while nobody knows.
    public let totalBytes: Int64?
    /// Over the last five seconds; 0 when nothing arrives.
    public let bytesPerSecond: Double
    /// Why the download failed, or what the attempt before this wait failed of.
    public let error: DownloadError?
    /// When the wait ends, as time from the snapshot on.
    public let waitsFor: Duration?
    /// The connections that bring bytes now, in the order in which they were opened.
    public let connections: [Connection]
    /// The stretches of the file that are here, in order; empty unless bytes arrive.
    public let landed: [Range<Int64>]

    /// A connection while bytes arrive.
    public struct Connection: Sendable, Hashable {
        /// The host that was asked, before redirects.
        public let host: String
        /// What it is to bring yet.
        public let owed: Range<Int64>
        /// Over the last two seconds.
        public let bytesPerSecond: Double
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
public struct CompletedDownload: Sendable, Hashable {
    public let id: DownloadID
    public let path: String
    public let bytes: Int64
    /// How the file was proved to be the one that was meant.
    public enum Proof: String, Sendable, Hashable, Codable {
        /// Its digest is the one that was given, or that the server announced.
        case digest
        /// Its length is the one that the server announced, and every part bears the same version.
        case length
        /// Nothing but the end of the connection said that it is whole.
        case none
    }
    public let proof: Proof
    /// True when the file had been completed by an earlier run and stands there unchanged, or was to be left alone.
    public let wasThere: Bool
}

/// How a run of a download ended.
public enum DownloadOutcome: Sendable, Hashable {
    case completed(CompletedDownload)
    case failed(DownloadError)
    case cancelled
}

/// What listeners of a download are told.
public enum DownloadEvent: Sendable, Hashable {
    /// The state is another one now. Never lost.
    case changed(DownloadSnapshot)
    /// More bytes are here. A slow listener sees the latest only.
    case progressed(DownloadSnapshot)
    /// The run is over. The last element, exactly once.
    case ended(DownloadOutcome)
}
