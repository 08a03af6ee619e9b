/// Makes the schema of a queue and upgrades an older one.
package struct SchemaInstaller: Sendable {
    /// Version of the schema that this program requires: the number of migrations.
    static let version = Int32(SchemaFiles.migrations.count)

    private let connection: DatabaseConnection
    private let queue: QueueName

    package init(_ connection: DatabaseConnection, _ queue: QueueName) {
        (self.connection, self.queue) = (connection, queue)
    }

    /// A role's rights in a queue.
    package enum Right: String, Sendable, CaseIterable {
        /// May call the functions that take and report items; may read no table.
        case worker
        /// May add items.
        case loader
        /// May read everything and change nothing. Enough for status, lists and export.
        case reader
    }

    /// Makes or upgrades the schema. Concurrent and repeated calls are safe: each does only what is missing.
    ///
    /// - Returns: whether the call made or upgraded the schema.
    @discardableResult
    package func install() async throws(FleetError) -> Bool { try await install(upTo: Self.version) }

    /// Checks that this program knows the version of the queue. Leaves a queue that is missing, or whose version this
    /// role may not read, to the next statement: workers name their version to the functions that they call.
    ///
    /// - Throws: ``FleetError/Code/databaseRefused`` if another program made the queue.
    func checkVersion() async throws(FleetError) {
        let found: Int32
        do throws(FleetError) {
            let rows = try await connection.run("SELECT coalesce(max(number), 0) FROM \(queue.quoted).version")
            found = try rows.first?.int(0, as: Int32.self) ?? 0
        } catch {
            guard let state = error.sqlState, Self.unreadableStates.contains(state) else { throw error }
            return
        }
        try Self.check(version: found)
    }

    /// `invalid_schema_name`, `undefined_table` and `insufficient_privilege`
    /// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
    private static let unreadableStates: Set = ["3F000", "42P01", "42501"]

    private static func check(version found: Int32) throws(FleetError) {
        // A negative number would be no index of `migrations`.
        guard found >= 0 else {
            throw FleetError(.databaseRefused, "The queue is damaged: its version is \(found).")
        }
        guard found <= version else {
            throw FleetError(
                .databaseRefused,
                "The queue has version \(found), and this program knows no later one than \(version): use the newer program."
            )
        }
    }

    /// - Parameter version: version to which older tables are upgraded; newer tables stay as they are. An upgrade
    ///   replaces all functions by those of this program.
    func install(upTo version: Int32) async throws(FleetError) -> Bool {
        let queue = queue
        let limits = TransactionLimits(statementTimeout: .seconds(600), lockTimeout: .seconds(60))
        let changed = try await connection.transaction(limits) { session throws(FleetError) in
            try Self.lock(queue, session)
            let exists = try session.execute("SELECT 1 FROM pg_namespace WHERE nspname = $1", [.text(queue.text)])
            if exists.count == 0 { _ = try session.execute("CREATE SCHEMA \(queue.quoted)") }
            _ = try session.execute("SELECT set_config('search_path', $1, true)", [.text(queue.quoted)])
            let table = "CREATE TABLE IF NOT EXISTS version (number integer PRIMARY KEY, at timestamptz DEFAULT now())"
            _ = try session.execute(table)
            let found =
                try session.execute("SELECT coalesce(max(number), 0) FROM version").first?.int(0, as: Int32.self) ?? 0
            try Self.check(version: found)
            guard found < version else { return false }
            let callers = try Self.callers(session, queue)
            try Self.dropFunctions(session, queue)
            for number in found..<version {
                try session.execute(script: SchemaFiles.migrations[Int(number)])
                _ = try session.execute("INSERT INTO version (number) VALUES ($1)", [.int(number + 1)])
            }
            for file in try SchemaFiles.functions() { try session.execute(script: file) }
            for (right, role) in callers {
                try session.execute(script: SchemaFiles.grants(right, in: queue, to: role))
            }
            return true
        }
        _ = try await connection.run("SELECT \(queue.quoted).make_partitions(1)", [], limits)
        return changed
    }

    /// Waits until no other transaction makes, upgrades or deletes the queue, and keeps others waiting until the end of
    /// this transaction.
    static func lock(_ queue: QueueName, _ session: DatabaseSession) throws(FleetError) {
        let lock = "SELECT pg_advisory_xact_lock(hashtextextended('haul-fleet ' || $1, 1))"
        _ = try session.execute(lock, [.text(queue.text)])
    }

    /// Returns the roles with rights in the queue, and their rights. The caller grants these rights again, because
    /// dropping the functions removes them and new tables have none.
    private static func callers(_ session: DatabaseSession, _ queue: QueueName) throws(FleetError) -> [(Right, String)]
    {
        let text = """
            SELECT DISTINCT CASE p.proname WHEN 'claim' THEN 'worker' ELSE 'loader' END, r.rolname FROM pg_proc p
                JOIN pg_namespace n ON n.oid = p.pronamespace, aclexplode(p.proacl) a
                JOIN pg_roles r ON r.oid = a.grantee
            WHERE n.nspname = $1 AND p.proname IN ('claim', 'load') AND a.grantee <> p.proowner
            UNION
            SELECT 'reader', r.rolname FROM pg_class c
                JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(c.relacl) a
                JOIN pg_roles r ON r.oid = a.grantee
            WHERE n.nspname = $1 AND c.relname = 'progress' AND a.privilege_type = 'SELECT' AND a.grantee <> c.relowner
            """
        return try session.execute(text, [.text(queue.text)]).map { row throws(FleetError) in
            guard let right = Right(rawValue: try row.text(0)) else { throw PostgresQueue.noAnswer }
            return (right, try row.text(1))
        }
    }

    private static func dropFunctions(_ session: DatabaseSession, _ queue: QueueName) throws(FleetError) {
        let names = try session.execute(
            "SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1",
            [.text(queue.text)]
        )
        for row in names { _ = try session.execute("DROP FUNCTION \(try row.text(0)) CASCADE") }
    }

    /// Grants a right in the queue to an existing database role. Repeated grants change nothing.
    package func grant(_ right: Right, to role: String) async throws(FleetError) {
        let grants = try SchemaFiles.grants(right, in: queue, to: role)
        try await connection.transaction { session throws(FleetError) in try session.execute(script: grants) }
    }
}
