/// Exports the results of a queue as text, in the order of the item numbers.
///
/// Each page has a transaction of its own, because a transaction as long as the export would keep vacuum from cleaning
/// the tables of the workers. An item that ends during the export is included if the export has not passed its number
/// yet.
package struct QueueExport: AsyncSequence, Sendable {
    package enum Format: String, Sendable, Hashable, CaseIterable {
        /// One object per line; members without a value are omitted.
        case jsonLines = "jsonl"
        /// RFC 4180 with a line of column names. Each column has one type and an empty field is null, as Parquet
        /// writers need.
        case csv
    }

    package struct Page: Sendable, Hashable {
        /// The text of the page in UTF-8, in complete lines.
        package var bytes: [UInt8]
        /// Number of the last item on the page. An interrupted export continues after this item.
        package var lastItem: Int64
    }

    private let connection: DatabaseConnection
    private let queue: QueueName
    private let format: Format
    private let after: Int64
    private let pageSize: Int

    /// Makes an export of the items after `after`.
    ///
    /// - Parameter after: the last item already exported; 0 for all items, with a line of column names in CSV.
    package init(
        _ connection: DatabaseConnection,
        _ queue: QueueName,
        format: Format,
        after: Int64 = 0,
        pageSize: Int = 20_000
    ) {
        (self.connection, self.queue, self.format) = (connection, queue, format)
        (self.after, self.pageSize) = (after, Swift.max(1, pageSize))
    }

    package func makeAsyncIterator() -> Iterator { Iterator(export: self, last: after) }

    package struct Iterator: AsyncIteratorProtocol {
        fileprivate let export: QueueExport
        fileprivate var last: Int64
        private var isFirst = true
        private var isOver = false

        fileprivate init(export: QueueExport, last: Int64) { (self.export, self.last) = (export, last) }

        package mutating func next() async throws(FleetError) -> Page? {
            guard !isOver else { return nil }
            var page = try await export.page(after: last)
            if isFirst, export.format == .csv, export.after == 0 {
                let names = QueueExport.columns.map(\.name).joined(separator: ",") + "\n"
                page = Page(bytes: Array(names.utf8) + (page?.bytes ?? []), lastItem: page?.lastItem ?? last)
            }
            isFirst = false
            guard let page else {
                isOver = true
                return nil
            }
            last = page.lastItem
            return page
        }
    }

    private static let columns: [(name: String, value: String)] = [
        ("item", "d.item_id"), ("key", "coalesce(i.key, i.url)"), ("url", "i.url"), ("path", "i.path"),
        (
            "outcome",
            "CASE WHEN d.outcome = 0 AND d.sha256 IS NULL THEN 'unchanged' WHEN d.outcome = 0 THEN 'completed' WHEN d.failure_kind = 'cancelled' THEN 'cancelled' ELSE 'failed' END"
        ), ("bytes", "d.bytes"),
        ("sha256", "encode(d.sha256, 'hex')"), ("tag", "d.tag"),
        ("shard", "s.name"), ("offset", "d.shard_offset"), ("failure_kind", "d.failure_kind"),
        ("failure_message", "d.failure_message"), ("attempts", "d.attempt"), ("worker", "d.worker_id"),
        ("finished_at", "to_char(d.at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"),
        ("metadata", "i.metadata"), ("mirrors", "i.mirrors"), ("duplicate_of", "d.duplicate_of"),
        ("validator", "d.validator"),
    ]

    /// Returns the statement of a page. COPY accepts no parameters, so the statement contains the bounds as numbers.
    private func statement(after: Int64, to last: Int64) -> String {
        let (schema, columns) = (queue.quoted, Self.columns)
        let source = """
            FROM \(schema).done d JOIN \(schema).item i ON i.item_id = d.item_id
                LEFT JOIN \(schema).shard s ON s.number = d.shard
            WHERE d.item_id > \(after) AND d.item_id <= \(last) ORDER BY d.item_id
            """
        switch format {
        case .csv:
            let values = columns.map(\.value).joined(separator: ", ")
            return "COPY (SELECT \(values) \(source)) TO STDOUT WITH (FORMAT csv)"
        case .jsonLines:
            let members = columns.map { "'\($0.name)', \($0.value)" }.joined(separator: ", ")
            // Uses CSV with a delimiter and a quote character that JSON always escapes, because COPY's text format
            // would double every backslash.
            return """
                COPY (SELECT json_strip_nulls(json_build_object(\(members)))::text \(source)) TO STDOUT
                WITH (FORMAT csv, DELIMITER E'\\x02', QUOTE E'\\x01')
                """
        }
    }

    private func page(after: Int64) async throws(FleetError) -> Page? {
        let bound = """
            SELECT max(item_id) FROM (
                SELECT item_id FROM \(queue.quoted).done WHERE item_id > $1 ORDER BY item_id LIMIT $2) p
            """
        let limits = TransactionLimits(statementTimeout: .seconds(120), lockTimeout: .seconds(2))
        return try await connection.transaction(limits) { [pageSize] session throws(FleetError) in
            let found = try session.execute(bound, [.int(after), .int(pageSize)]).first?.optionalInt(0, as: Int64.self)
            guard let last = found ?? nil else { return nil }
            var bytes: [UInt8] = []
            try session.copyOut(statement(after: after, to: last)) { bytes.append(contentsOf: $0) }
            return Page(bytes: bytes, lastItem: last)
        }
    }
}
