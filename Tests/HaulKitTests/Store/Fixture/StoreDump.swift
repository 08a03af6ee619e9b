import Foundation

@testable import HaulCore
@testable import HaulKit

/// The contents of a store, independent of its tables. Two versions of Haul that read the same downloads give equal
/// dumps.
struct StoreDump: Codable, Equatable {
    /// All options of a request.
    struct Request: Codable, Equatable {
        var url: String
        var target: String?
        var isChosenByDocument: Bool
        var mirrors: [Metalink.Source]
        var file: String?
        var folder: String?
        var root: String?
        var suggestedName: String?
        var isNameNumbered: Bool
        var headers: [HeaderField]
        var checksum: DownloadRequest.Checksum?
        var pieces: PieceHashes?
        var size: Int64?
        var bytesPerSecond: Int64?
        var onConflict: DownloadRequest.ConflictPolicy?
        var onDuplicate: DownloadRequest.PresencePolicy
        var failsOnChange: Bool
        var resumesUnverified: Bool
        var setsModificationTime: Bool
        var allowsInsecureRedirects: Bool
        var key: String?
        var group: String?
        var owner: String?
        var metadata: String?
        var priority: Int
    }

    struct Download: Codable, Equatable {
        var id: String
        var request: Request
        /// The header fields sent to the server: those of the request, or those of the source provider's URL.
        var sentHeaders: [HeaderField]
        var link: String?
        var linkHeaders: [HeaderField]?
        var isRepair: Bool
        var status: String
        var partPath: String?
        var finalPath: String?
        var resource: Resource?
        var part: FileStatus?
        var finished: FileStatus?
        var error: DownloadError?
        var ownerNumber: Int64?
        var host: String?
        var position: Int64
        var total: Int64?
        var hold: HoldReason?
        var proof: CompletedDownload.Proof?
        var linkExpiresAt: Date?
        var createdAt: Date
        var startedAt: Date?
        var finishedAt: Date?
        /// The byte ranges as text; `nil` without a row of ranges.
        var written: String?
        var synced: String?
        var bootID: String?
        var received: Int64?
        var snapshot: DownloadSnapshot
    }

    var downloads: [Download]
    /// Connection limits by origin.
    var hostLimits: [String: Int]
    var groups: [String]

    init(_ store: DownloadStore, at date: Date) async throws {
        downloads = try await store.all().compactMap(Download.init)
        let limits = try await store.knownHosts(at: date).compactMapValues(\.limit)
        hostLimits = Dictionary(uniqueKeysWithValues: limits.map { ($0.key.text, $0.value) })
        groups = try await store.groups().map { Self.text($0) }.sorted()
    }

    /// The text of a group without the names of modules, between which types move.
    private static func text(_ group: GroupSummary) -> String { "\(group)".replacing(/Haul\w+\./, with: "") }
}

extension StoreDump.Download {
    init?(_ saved: DownloadStore.Saved) {
        let (record, progress) = (saved.record, saved.progress)
        guard let id = DownloadID(record.id) else { return nil }
        self.id = record.id
        request = .init(record.request)
        sentHeaders = record.headers
        link = record.link?.url.absoluteString
        linkHeaders = record.link?.headers
        isRepair = record.isRepair
        status = record.status.rawValue
        (partPath, finalPath, resource) = (record.partPath, record.finalPath, record.resource)
        (part, finished, error) = (record.part, record.finished, record.error)
        (ownerNumber, host, position) = (record.ownerNumber, record.host, record.position)
        (total, hold, proof) = (record.total, record.hold, record.proof)
        (linkExpiresAt, createdAt) = (record.linkExpiresAt, record.createdAt)
        (startedAt, finishedAt) = (record.startedAt, record.finishedAt)
        (written, synced) = (progress?.written, progress?.synced)
        (bootID, received) = (progress?.bootID, progress?.received)
        snapshot = DownloadSnapshot(id, record, receivedBytes: progress?.received ?? 0)
    }
}

extension StoreDump.Request {
    init(_ request: DownloadRequest) {
        url = request.url.absoluteString
        (target, isChosenByDocument, mirrors) = (request.target, request.isChosenByDocument, request.mirrors)
        switch request.destination {
        case .file(let path): file = path
        case .folder(let path): folder = path
        }
        (root, suggestedName, isNameNumbered) = (request.root, request.suggestedName, request.isNameNumbered)
        (headers, checksum, pieces) = (request.headers, request.checksum, request.pieces)
        (size, bytesPerSecond) = (request.size, request.bytesPerSecond)
        (onConflict, onDuplicate) = (request.onConflict, request.onDuplicate)
        (failsOnChange, resumesUnverified) = (request.failsOnChange, request.resumesUnverified)
        setsModificationTime = request.setsModificationTime
        allowsInsecureRedirects = request.allowsInsecureRedirects
        (key, group, owner) = (request.key, request.group, request.owner)
        (metadata, priority) = (request.metadata?.json, request.priority)
    }
}
