/// The completed items of a queue, each with the validator of the version that was fetched. Added to another queue, they
/// are fetched only if their files have changed since.
package struct QueueItems: AsyncSequence, Sendable {
    private static let pageSize = 10_000

    private let connection: DatabaseConnection
    private let queue: QueueName

    package init(_ connection: DatabaseConnection, _ queue: QueueName) {
        (self.connection, self.queue) = (connection, queue)
    }

    package func makeAsyncIterator() -> Iterator { Iterator(items: self) }

    package struct Iterator: AsyncIteratorProtocol {
        fileprivate let items: QueueItems
        private var page: [NewItem] = []
        private var index = 0
        private var last: Int64 = 0
        private var isOver = false

        fileprivate init(items: QueueItems) { self.items = items }

        package mutating func next() async throws(FleetError) -> NewItem? {
            if index == page.count {
                guard !isOver else { return nil }
                let rows = try await items.rows(after: last)
                page = try rows.map { row throws(FleetError) in try NewItem(completed: row) }
                index = 0
                isOver = page.count < QueueItems.pageSize
                guard let row = rows.last else { return nil }
                last = try row.int(0)
            }
            defer { index += 1 }
            return page[index]
        }
    }

    private func rows(after last: Int64) async throws(FleetError) -> [DatabaseRow] {
        let text = """
            SELECT i.item_id, i.key, i.url, i.path, i.checksum, i.size, i.metadata, i.prio, i.mirrors, d.validator
            FROM \(queue.quoted).done d JOIN \(queue.quoted).item i ON i.item_id = d.item_id
            WHERE d.item_id > $1 AND d.outcome = 0 ORDER BY d.item_id LIMIT $2
            """
        return Array(try await connection.run(text, [.int(last), .int(Self.pageSize)]))
    }
}

extension NewItem {
    /// Reads a row of ``QueueItems``.
    fileprivate init(completed row: DatabaseRow) throws(FleetError) {
        self.init(
            key: row.optionalText(1),
            url: try row.text(2),
            path: try row.text(3),
            checksum: row.optionalText(4),
            size: try row.optionalInt(5),
            metadata: row.optionalText(6),
            priority: try row.int(7),
            mirrors: row.optionalText(8).map(RawItem.mirrors) ?? [],
            validator: row.optionalText(9)
        )
    }
}
