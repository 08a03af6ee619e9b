/// Deletes a queue.
extension QueueAdministration {
    /// Deletes the queue with its items, results and settings. Files at the destination stay, and so do uploads to a
    /// store that are not complete.
    ///
    /// - Throws: ``FleetError/Code/databaseRefused`` if there is no such queue, if a worker is at work, or if the schema
    ///   also has tables that are not of a queue.
    package func delete() async throws(FleetError) {
        let queue = queue
        let worker = table("worker")
        let limits = TransactionLimits(statementTimeout: .seconds(600), lockTimeout: .seconds(60))
        try await connection.transaction(limits) { session throws(FleetError) in
            try SchemaInstaller.lock(queue, session)
            try Self.checkTables(queue, session)
            // No worker registers or claims until the queue is gone.
            _ = try session.execute("LOCK TABLE \(worker) IN ACCESS EXCLUSIVE MODE")
            let atWork = """
                SELECT count(*) FROM \(worker)
                WHERE state = 'live' AND beat_at > clock_timestamp() - lease_s * interval '1 s'
                """
            let count = try session.execute(atWork).first?.int(0, as: Int64.self) ?? 0
            guard count == 0 else {
                throw FleetError(
                    .databaseRefused,
                    "Workers of the queue \(queue) are at work (\(count)): run haul-fleet drain, and wait until they have ended."
                )
            }
            _ = try session.execute("DROP SCHEMA \(queue.quoted) CASCADE")
        }
    }

    private static func checkTables(_ queue: QueueName, _ session: DatabaseSession) throws(FleetError) {
        let text = """
            SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
            """
        let found = try session.execute(text, [.text(queue.text)]).map { row throws(FleetError) in try row.text(0) }
        guard Set(found).isSuperset(of: ["version", "setting", "item", "lease", "done"]) else {
            throw FleetError(.databaseRefused, "There is no queue \(queue) in this database.")
        }
        let others = Set(found).subtracting(SchemaFiles.tables)
        guard let other = others.min() else { return }
        throw FleetError(
            .databaseRefused,
            "The schema \(queue) also has \(RelativePath.quoted(other)), which is not of the queue: drop what you need no more with psql."
        )
    }
}
