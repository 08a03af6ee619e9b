internal import DequeModule
internal import Foundation
package import HaulKit

/// Log of each download since the start of the process: at most 50 lines each, for at most 2,000 downloads.
package struct DownloadLogs: Sendable {
    package enum Level: String, Codable, Sendable {
        case info, warning, error
    }

    package struct Entry: Codable, Hashable, Sendable {
        package var at: String
        package var level: Level
        package var text: String
    }

    private static let (most, mostDownloads) = (50, 2000)
    private var entries: [DownloadID: Deque<Entry>] = [:]
    private var order = Deque<DownloadID>()

    package func entries(of id: DownloadID) -> [Entry] { Array(entries[id] ?? []) }

    package mutating func add(_ level: Level, _ text: String, _ id: DownloadID) {
        if entries[id] == nil {
            order.append(id)
            while order.count > Self.mostDownloads, let oldest = order.popFirst() { entries[oldest] = nil }
        }
        var lines = entries[id] ?? []
        // Skips a repeated line, as of a download that fails and waits for hours.
        guard lines.last?.text != text else { return }
        lines.append(Entry(at: Timestamp.text(Date()), level: level, text: text))
        if lines.count > Self.most { lines.removeFirst() }
        entries[id] = lines
    }

    package mutating func remove(_ id: DownloadID) {
        guard entries.removeValue(forKey: id) != nil, let place = order.firstIndex(of: id) else { return }
        order.remove(at: place)
    }

    package mutating func record(_ snapshot: DownloadSnapshot) {
        let host = snapshot.url.host ?? "the server"
        switch snapshot.state {
        case .queued: add(.info, snapshot.holdReason.map { "Queued (\($0.rawValue))." } ?? "Queued.", snapshot.id)
        case .connecting: add(.info, "Connecting to \(host).", snapshot.id)
        case .transferring: add(.info, "Receiving from \(host).", snapshot.id)
        case .waiting:
            add(
                .warning,
                "\(snapshot.error?.description ?? "The attempt failed.") Another attempt follows.",
                snapshot.id
            )
        case .verifying: add(.info, "Verifying.", snapshot.id)
        case .paused: add(.info, snapshot.holdReason.map { "Held (\($0.rawValue))." } ?? "Paused.", snapshot.id)
        case .completed, .failed, .cancelled: break
        }
    }

    package mutating func record(_ outcome: DownloadOutcome, _ id: DownloadID) {
        switch outcome {
        case .completed(let file): add(.info, "Complete: \(file.path)", id)
        case .failed(let error) where error.code != .shutDown: add(.error, error.description, id)
        case .failed, .cancelled: break
        }
    }
}
