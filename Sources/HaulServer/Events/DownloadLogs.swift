internal import DequeModule
internal import Foundation
package import HaulKit

/// Log of each download since the start of the process: at most 50 lines each, for at most 2,000 downloads.
package struct DownloadLogs: Sendable {
    package enum Level: String, Codable, Sendable {
        case info, warning, error
    }

    /// Codes of entries. Clients have a text in their language for each, and show ``Entry/text`` for an unknown one.
    package enum Code: String, Codable, Sendable, CaseIterable {
        case added, queued, connecting, receiving, retrying, verifying, paused, held, completed, failed
    }

    package struct Entry: Codable, Hashable, Sendable {
        package var at: String
        package var level: Level
        package var code: Code
        /// The English text.
        package var text: String
        /// Host of the server; for ``Code/connecting`` and ``Code/receiving``.
        package var host: String?
        /// For ``Code/held``, and for ``Code/queued`` if the download cannot start even when its turn comes.
        package var holdReason: HoldReason?
        /// For ``Code/failed``, and for ``Code/retrying`` if the error is known.
        package var error: DownloadRow.Failure?
        /// Path of the file; for ``Code/completed``.
        package var path: String?

        package init(
            at: String = Timestamp.text(Date()),
            _ level: Level,
            _ code: Code,
            _ text: String,
            host: String? = nil,
            holdReason: HoldReason? = nil,
            error: DownloadError? = nil,
            path: String? = nil
        ) {
            (self.at, self.level, self.code, self.text) = (at, level, code, text)
            (self.host, self.holdReason, self.path) = (host, holdReason, path)
            self.error = error.map(DownloadRow.Failure.init)
        }
    }

    private static let (most, mostDownloads) = (50, 2000)
    private var entries: [DownloadID: Deque<Entry>] = [:]
    private var order = Deque<DownloadID>()

    package func entries(of id: DownloadID) -> [Entry] { Array(entries[id] ?? []) }

    package mutating func add(_ entry: Entry, _ id: DownloadID) {
        if entries[id] == nil {
            order.append(id)
            while order.count > Self.mostDownloads, let oldest = order.popFirst() { entries[oldest] = nil }
        }
        var lines = entries[id] ?? []
        // Skips a line that repeats the last one.
        guard lines.last?.text != entry.text else { return }
        lines.append(entry)
        if lines.count > Self.most { lines.removeFirst() }
        entries[id] = lines
    }

    package mutating func remove(_ id: DownloadID) {
        guard entries.removeValue(forKey: id) != nil, let place = order.firstIndex(of: id) else { return }
        order.remove(at: place)
    }

    package mutating func record(_ snapshot: DownloadSnapshot) {
        if let entry = Entry(snapshot) { add(entry, snapshot.id) }
    }

    package mutating func record(_ outcome: DownloadOutcome, _ id: DownloadID) {
        switch outcome {
        case .completed(let file): add(Entry(.info, .completed, "Complete: \(file.path)", path: file.path), id)
        case .failed(let error) where error.code != .shutDown:
            add(Entry(.error, .failed, error.description, error: error), id)
        case .failed, .cancelled: break
        }
    }
}

extension DownloadLogs.Entry {
    /// Makes the entry of a change; `nil` for an end, because ``DownloadLogs/record(_:_:)`` logs its outcome.
    fileprivate init?(_ snapshot: DownloadSnapshot) {
        let host = snapshot.url.host
        let server = host ?? "the server"
        let reason = snapshot.holdReason
        switch snapshot.state {
        case .queued:
            self.init(.info, .queued, reason.map { "Queued (\($0.rawValue))." } ?? "Queued.", holdReason: reason)
        case .connecting: self.init(.info, .connecting, "Connecting to \(server).", host: host)
        case .transferring: self.init(.info, .receiving, "Receiving from \(server).", host: host)
        case .waiting:
            let failure = snapshot.error?.description ?? "The attempt failed."
            self.init(.warning, .retrying, "\(failure) Another attempt follows.", error: snapshot.error)
        case .verifying: self.init(.info, .verifying, "Verifying.")
        case .paused:
            if let reason {
                self.init(.info, .held, "Held (\(reason.rawValue)).", holdReason: reason)
            } else {
                self.init(.info, .paused, "Paused.")
            }
        case .completed, .failed, .cancelled: return nil
        }
    }
}
