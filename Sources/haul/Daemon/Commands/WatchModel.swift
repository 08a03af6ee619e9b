import Foundation
import HaulKit
import HaulServer

/// The rows of the daemon, kept up to date by its events.
struct WatchModel {
    private var fields: [String: [String: JSONValue]] = [:]
    /// Ids in the order of the last snapshot. Ids of later downloads follow at the end.
    private(set) var order: [String] = []
    private(set) var totals: Totals?
    /// The downloads to follow; `nil` for all.
    let only: Set<String>?
    /// Ids of the rows that the last event changed.
    private(set) var changed: [String] = []
    private(set) var removed: [String] = []
    /// Whether all parts of a snapshot have come since the last ``restart()``.
    private(set) var isWhole = false

    enum Request {
        case nothing
        /// The rows are outdated: connect again without a position.
        case readAgain
        case ended
    }

    private struct Snapshot: Decodable {
        var rows: [[String: JSONValue]]
        var part: Int
        var of: Int
    }
    private struct Delta: Decodable {
        var rows: [String: [String: JSONValue]]
        var removed: [String]
        var stale: Bool?
    }

    init(only: Set<String>? = nil) { self.only = only }

    mutating func restart() { isWhole = false }

    mutating func take(_ event: ServerEvent) throws -> Request {
        (changed, removed) = ([], [])
        switch event.name {
        case "snapshot":
            take(try DaemonClient.decoded(Snapshot.self, event.data))
        case "delta":
            let delta = try DaemonClient.decoded(Delta.self, event.data)
            take(delta)
            if delta.stale == true { return .readAgain }
        case "stats": totals = try DaemonClient.decoded(Totals.self, event.data)
        case "reset": return .readAgain
        case "bye": return .ended
        default: break
        }
        return .nothing
    }

    private mutating func take(_ snapshot: Snapshot) {
        if snapshot.part == 1 {
            pending = []
            pendingFields = [:]
        }
        for row in snapshot.rows {
            guard case .string(let id) = row["id"], only?.contains(id) ?? true else { continue }
            pending.append(id)
            pendingFields[id] = row
        }
        guard snapshot.part == snapshot.of else { return }
        removed = order.filter { pendingFields[$0] == nil }
        changed = pending.filter { pendingFields[$0] != fields[$0] }
        (order, fields) = (pending, pendingFields)
        (pending, pendingFields) = ([], [:])
        isWhole = true
    }

    private var pending: [String] = []
    private var pendingFields: [String: [String: JSONValue]] = [:]

    private mutating func take(_ delta: Delta) {
        for (id, values) in delta.rows.sorted(by: { $0.key < $1.key }) where only?.contains(id) ?? true {
            guard fields[id] != nil || values["addedAt"] != nil else { continue }
            if fields[id] == nil { order.append(id) }
            var row = fields[id] ?? [:]
            for (name, value) in values { row[name] = value == .null ? nil : value }
            fields[id] = row
            changed.append(id)
        }
        for id in delta.removed where fields[id] != nil {
            fields[id] = nil
            removed.append(id)
        }
        if !removed.isEmpty { order.removeAll { fields[$0] == nil } }
    }

    /// Takes a row that was requested on its own, not as part of a snapshot.
    mutating func take(_ row: DownloadRow) {
        let id = row.id.description
        if fields[id] == nil { order.append(id) }
        fields[id] = row.fields
    }

    /// - Returns: `nil` for a row that is unknown or cannot be read.
    func row(_ id: String) -> DownloadRow? {
        guard let fields = fields[id] else { return nil }
        // A daemon of another version may have rows that this one cannot read.
        return try? JSONDecoder().decode(DownloadRow.self, from: JSONEncoder().encode(fields))
    }

    func state(_ id: String) -> String? {
        guard case .string(let state) = fields[id]?["state"] else { return nil }
        return state
    }
}
