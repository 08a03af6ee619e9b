internal import GRDB

/// Reads and changes the stored order of the queue.
extension DownloadStore {
    struct PlaceRow: Sendable {
        let id: DownloadID
        let priority: Int
        let position: Int64
    }

    /// Returns the places of the downloads `ids`; of all downloads if `ids` is `nil`.
    func places(_ ids: [DownloadID]?) async throws(DownloadError) -> [PlaceRow] {
        let condition = ids.map { StoreCondition.ids($0) } ?? .all
        return try await reading { database in
            try Row.fetchAll(
                database,
                sql: "SELECT id, priority, position FROM download WHERE \(condition.sql)",
                arguments: condition.bound
            ).compactMap { row in
                // Skips a row with an odd value.
                try? Self.place(row)
            }
        }
    }

    private static func place(_ row: Row) throws(OddValue) -> PlaceRow? {
        guard let id = DownloadID(try row.required(0)) else { return nil }
        return PlaceRow(id: id, priority: try row.required(1), position: try row.required(2))
    }

    /// Returns the bounds of the free positions at `place`; `nil` if `place` refers to an unknown download.
    func gap(at place: Downloader.Place, besides ids: [DownloadID]) async throws(DownloadError) -> (
        lower: Int64, upper: Int64
    )? {
        var others = StoreCondition()
        others.add(besides: ids)
        let condition = others
        let step = DownloadCatalog.positionStep * Int64(ids.count + 1)
        let plausible = "typeof(position) = 'integer' AND position BETWEEN -2305843009213693951 AND 2305843009213693951"
        return try await reading { database in
            func position(_ what: String, _ more: String = "1") throws -> Int64? {
                try Int64.fetchOne(
                    database,
                    sql: "SELECT \(what)(position) FROM download WHERE \(condition.sql) AND \(plausible) AND \(more)",
                    arguments: condition.bound
                )
            }
            func own(_ id: DownloadID) throws -> Int64? {
                try Int64.fetchOne(
                    database,
                    sql: "SELECT position FROM download WHERE id = ? AND \(plausible)",
                    arguments: [id.description]
                )
            }
            switch place {
            case .first:
                let first = try position("min") ?? 0
                return (first - step, first)
            case .last:
                let last = try position("max") ?? 0
                return (last, last + step)
            case .before(let id):
                guard let upper = try own(id) else { return nil }
                return (try position("max", "position < \(upper)") ?? upper - step, upper)
            case .after(let id):
                guard let lower = try own(id) else { return nil }
                return (lower, try position("min", "position > \(lower)") ?? lower + step)
            }
        }
    }

    /// Gives the downloads `ids` the positions `first`, `first + step` and so on, in one transaction.
    func place(_ ids: [DownloadID], from first: Int64, by step: Int64) async throws(DownloadError) {
        try await writing { database in
            for (index, id) in ids.enumerated() {
                try database.execute(
                    sql: "UPDATE download SET position = ? WHERE id = ?",
                    arguments: [first + step * Int64(index), id.description]
                )
            }
        }
    }

    /// Renumbers all positions in their order, with gaps of `step` between them.
    func spread(_ step: Int64) async throws(DownloadError) { try await spread(step, orderedBy: "position, rowid") }

    /// Gives all downloads new positions in another order, with gaps of `step` between them.
    func spread(_ step: Int64, by order: DownloadFilter.Order, isDescending: Bool) async throws(DownloadError) {
        let filter = DownloadFilter(order: order, isDescending: isDescending)
        try await spread(step, orderedBy: StoreCondition(filter, live: [:]).order)
    }

    /// - Parameter order: SQL that contains no outside value.
    private func spread(_ step: Int64, orderedBy order: String) async throws(DownloadError) {
        try await writing { database in
            try database.execute(
                sql: """
                    UPDATE download SET position = place.number * \(step)
                    FROM (SELECT id, row_number() OVER (ORDER BY \(order)) AS number FROM download) AS place
                    WHERE download.id = place.id
                    """
            )
        }
    }
}
