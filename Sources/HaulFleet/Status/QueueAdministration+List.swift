/// The state of an item.
package enum ItemState: String, Sendable, Hashable, Codable, CaseIterable {
    /// Added, but no worker's maintenance has made the item ready yet.
    case unfed
    case ready
    /// Waits for its next attempt.
    case later
    case leased
    case completed
    case failed
    case cancelled
}

/// An item in the output of `haul-fleet list`.
package struct ListedItem: Sendable, Hashable, Codable {
    package var item: Int64
    package var state: ItemState
    package var url: String
    package var path: String
    package var host: String
    package var key: String?
    package var size: Int64?
    package var metadata: String?
    package var attempt: Int?
    package var failureKind: String?
    package var failureMessage: String?
    /// The worker that holds or ended the item.
    package var worker: WorkerID?
    /// Length of the completed file; `nil` for other items.
    package var bytes: Int64?
    package var sha256: String?
    /// Seconds until the next attempt; negative if it is due. `nil` for items that wait for no attempt.
    package var secondsUntilDue: Double?
}

extension QueueAdministration {
    package struct ItemFilter: Sendable, Hashable {
        package var state: ItemState
        package var host: String?
        /// Selects items by the kind of their failure. Only failed items, and items that wait for their next attempt,
        /// have a kind; with another ``state``, a kind selects no item.
        package var failureKind: String?

        package init(_ state: ItemState, host: String? = nil, failureKind: String? = nil) {
            (self.state, self.host, self.failureKind) = (state, host, failureKind)
        }
    }

    /// Lists items in the order of their numbers.
    ///
    /// - Parameter after: the last item number of the previous page; 0 for the first page.
    package func list(_ filter: ItemFilter, limit: Int = 100, after: Int64 = 0) async throws(FleetError) -> [ListedItem]
    {
        let place = Self.place(filter.state, table)
        let text = """
            SELECT i.item_id, i.url, i.path, h.name, i.key, i.size, i.metadata, \(place.columns)
            FROM \(place.source) JOIN \(table("item")) i ON \(place.join) JOIN \(table("host")) h ON h.host_id = i.host_id
            WHERE i.item_id > $1 AND ($2::text IS NULL OR h.name = $2) AND ($3::text IS NULL OR \(place.kind) = $3)
                AND \(place.condition)
            ORDER BY i.item_id LIMIT $4
            """
        let parameters: [SQLParameter] = [
            .int(after), .text(filter.host), .text(filter.failureKind), .int(max(0, limit)),
        ]
        let limits = TransactionLimits(statementTimeout: .seconds(60), lockTimeout: .seconds(2))
        return try await connection.run(text, parameters, limits).map { row throws(FleetError) in
            ListedItem(
                item: try row.int(0),
                state: filter.state,
                url: try row.text(1),
                path: try row.text(2),
                host: try row.text(3),
                key: row.optionalText(4),
                size: try row.optionalInt(5),
                metadata: row.optionalText(6),
                attempt: try row.optionalInt(7),
                failureKind: row.optionalText(8),
                failureMessage: row.optionalText(9),
                worker: try row.optionalInt(10),
                bytes: try row.optionalInt(11),
                sha256: row.optionalText(12),
                secondsUntilDue: row.isNull(13) ? nil : try row.double(13)
            )
        }
    }

    private struct Place {
        var source: String
        var join = "i.item_id = p.item_id"
        var condition = "true"
        var kind = "NULL"
        /// Columns: attempt, failure kind, failure message, worker, bytes, digest, seconds until due.
        var columns: String
    }

    private static func place(_ state: ItemState, _ table: (String) -> String) -> Place {
        switch state {
        case .unfed:
            Place(
                source: """
                    (SELECT fed_to AS after, last_id, NULL::integer AS host_id, NULL::bigint[] AS ids
                        FROM \(table("batch")) WHERE fed_to < last_id
                    UNION ALL SELECT first_id - 1, last_id, host_id, ids FROM \(table("passed"))) p
                    """,
                join: """
                    i.item_id > p.after AND i.item_id <= p.last_id AND (p.host_id IS NULL OR i.host_id = p.host_id)
                        AND (p.ids IS NULL OR i.item_id = ANY (p.ids))
                    """,
                columns: "NULL, NULL, NULL, NULL, NULL, NULL, NULL"
            )
        case .ready: Place(source: "\(table("ready")) p", columns: "p.attempt, NULL, NULL, NULL, NULL, NULL, NULL")
        case .leased:
            Place(source: "\(table("lease")) p", columns: "p.attempt, NULL, NULL, p.worker_id, NULL, NULL, NULL")
        case .later:
            Place(
                source: "\(table("later")) p",
                kind: "p.failure_kind",
                columns: """
                    p.attempt, p.failure_kind, p.failure_message, NULL, NULL, NULL,
                        extract(epoch FROM p.due_at - clock_timestamp())::float8
                    """
            )
        case .completed:
            Place(
                source: "\(table("done")) p",
                condition: "p.outcome = 0",
                columns: "p.attempt, NULL, NULL, p.worker_id, p.bytes, encode(p.sha256, 'hex'), NULL"
            )
        case .failed, .cancelled:
            Place(
                source: "\(table("done")) p",
                condition: state == .cancelled
                    ? "p.outcome = 1 AND p.failure_kind = 'cancelled'"
                    : "p.outcome = 1 AND (p.failure_kind IS DISTINCT FROM 'cancelled' OR $3 = 'cancelled')",
                kind: "p.failure_kind",
                columns: "p.attempt, p.failure_kind, p.failure_message, p.worker_id, NULL, NULL, NULL"
            )
        }
    }
}
