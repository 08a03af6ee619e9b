/// A complete shard.
package struct CompleteShard: Sendable, Hashable, Codable {
    /// Path below the destination.
    package var name: String
    package var items: Int
    package var bytes: Int64
    /// SHA-256 of the shard in hexadecimal.
    package var sha256: String
}

extension QueueAdministration {
    /// Returns the complete shards in the order of their numbers.
    package func shards() async throws(FleetError) -> [CompleteShard] {
        let text = """
            SELECT name, items, bytes, encode(sha256, 'hex') FROM \(table("shard")) WHERE state = 1 ORDER BY number
            """
        return try await connection.run(text).map { row throws(FleetError) in
            CompleteShard(
                name: try row.text(0),
                items: try row.int(1),
                bytes: try row.int(2),
                sha256: try row.text(3)
            )
        }
    }
}
