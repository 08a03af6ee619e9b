internal import DequeModule
package import HaulKit

/// The rows that changed last, with the revision of each field. ``delta(since:)`` merges all changes after a revision,
/// so no listener needs a queue of its own.
package struct ChangedRows: Sendable {
    private struct Row {
        var fields: [String: (value: JSONValue, revision: UInt64)]
        /// Revision at which the row became known here. A listener at an earlier revision gets the whole row.
        var known: UInt64
        var revision: UInt64
    }

    /// The changes after a revision.
    package struct Delta: Hashable, Sendable, Encodable {
        package var rows: [String: [String: JSONValue]] = [:]
        package var removed: [String] = []
        /// Whether lists must be read again, because many rows or their order changed at once.
        package var stale: Bool?

        package var isEmpty: Bool { rows.isEmpty && removed.isEmpty && stale == nil }
    }

    /// Increases with each change.
    package private(set) var revision: UInt64
    private var rows: [DownloadID: Row] = [:]
    /// Changes in the order of their revisions. Only the last entry of a row counts.
    private var order = Deque<(revision: UInt64, id: DownloadID)>()
    private var removals = Deque<(revision: UInt64, id: DownloadID)>()
    private var staleAt: UInt64 = 0
    /// The oldest revision after which all changes are known.
    private var oldest: UInt64
    private let limit: Int
    /// Names of the fields that a row may lack.
    private let optional: [String]

    package init(revision: UInt64 = 1, limit: Int = 4000, optional: [String] = []) {
        (self.revision, self.limit, self.optional) = (revision, limit, optional)
        oldest = revision
    }

    /// Replaces the fields of a row; a field that is missing in `fields` becomes `null`. All fields that change get the
    /// same new revision.
    package mutating func update(_ id: DownloadID, _ fields: [String: JSONValue]) {
        guard var row = rows[id] else {
            revision += 1
            rows[id] = Row(fields: fields.mapValues { ($0, revision) }, known: revision, revision: revision)
            order.append((revision, id))
            trim()
            return
        }
        let next = revision + 1
        var hasChanged = false
        for (name, value) in fields where row.fields[name]?.value != value {
            row.fields[name] = (value, next)
            hasChanged = true
        }
        for (name, field) in row.fields where fields[name] == nil && field.value != .null {
            row.fields[name] = (.null, next)
            hasChanged = true
        }
        guard hasChanged else { return }
        revision = next
        row.revision = next
        rows[id] = row
        order.append((next, id))
        trim()
    }

    package mutating func remove(_ id: DownloadID) {
        revision += 1
        rows[id] = nil
        removals.append((revision, id))
        if removals.count > limit { oldest = max(oldest, removals.removeFirst().revision) }
    }

    /// Records that lists must be read again.
    package mutating func markStale() {
        revision += 1
        staleAt = revision
    }

    /// Returns the last reported value of a field; `nil` if the row is not known here or never had the field.
    package func value(_ name: String, of id: DownloadID) -> JSONValue? { rows[id]?.fields[name]?.value }

    /// Whether all changes after a revision are still known.
    package func isKnown(_ since: UInt64) -> Bool { since >= oldest && since <= revision }

    /// Returns the changes after a revision; `nil` if the revision is too old, or later than the present one.
    package func delta(since: UInt64) -> Delta? {
        guard isKnown(since) else { return nil }
        var delta = Delta()
        for entry in order.reversed() {
            guard entry.revision > since else { break }
            guard let row = rows[entry.id], row.revision == entry.revision else { continue }
            var fields: [String: JSONValue] = [:]
            // Clears absent fields, because a listener may have an older version of this row with these fields.
            if row.known > since { for name in optional { fields[name] = .null } }
            for (name, field) in row.fields where field.revision > since { fields[name] = field.value }
            delta.rows[entry.id.description] = fields
        }
        for entry in removals.reversed() {
            guard entry.revision > since else { break }
            delta.removed.append(entry.id.description)
        }
        if staleAt > since { delta.stale = true }
        return delta
    }

    private mutating func trim() {
        while rows.count > limit, let entry = order.popFirst() {
            guard let row = rows[entry.id], row.revision == entry.revision else { continue }
            rows[entry.id] = nil
            oldest = max(oldest, entry.revision)
        }
        // Removes outdated entries, which accumulate if few rows change often.
        if order.count > 4 * limit {
            order = Deque(order.filter { entry in rows[entry.id]?.revision == entry.revision })
        }
    }
}
