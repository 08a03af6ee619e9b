extension QueueAdministration {
    /// Limit for counting rows. Above it, `ready` and `later` are estimates of vacuum.
    private static let mostCounted = 1_000_000

    /// Reads the status of the queue.
    ///
    /// - Parameter hosts: maximum number of hosts in the result.
    package func status(hosts: Int = 20) async throws(FleetError) -> FleetStatus {
        let limits = TransactionLimits(statementTimeout: .seconds(30), lockTimeout: .seconds(2))
        let statements = [
            SQLStatement(settingsStatement), totalsStatement, rateStatement, workersStatement, hostsStatement(hosts),
            failuresStatement, oldestTransactionStatement,
        ]
        let rows = try await connection.run(statements, limits)
        guard rows.count == statements.count, let totals = rows[1].first, let rate = rows[2].first else {
            throw FleetError(.statementFailed, "The database answered without a row.")
        }
        return FleetStatus(
            settings: try QueueSettings(rows[0]),
            totals: try FleetStatus.Totals(totals),
            rate: FleetStatus.Rate(
                itemsPerSecond: try rate.double(0),
                bytesPerSecond: try rate.double(1),
                failuresPerSecond: try rate.double(2)
            ),
            workers: try rows[3].map { row throws(FleetError) in try FleetStatus.Worker(row) },
            hosts: try rows[4].map { row throws(FleetError) in try FleetStatus.Host(row) },
            failures: try rows[5].map { row throws(FleetError) in try FleetStatus.FailureCount(row) },
            orphanUploads: try totals.int(10),
            oldestTransaction: try rows[6].first.map { row throws(FleetError) in
                FleetStatus.OpenTransaction(seconds: try row.double(0), holder: try row.text(1))
            }
        )
    }

    /// Returns the number of failed items. A worker's role may ask for it, too.
    package func failedItems() async throws(FleetError) -> Int64 {
        let rows = try await connection.run("SELECT \(queue.quoted).failed_items()")
        guard let row = rows.first else { throw PostgresQueue.noAnswer }
        return try row.int(0)
    }

    /// Whether each added item is completed or has failed.
    package func isDrained() async throws(FleetError) -> Bool {
        let rest = ["ready", "later", "lease"].map { "SELECT 1 FROM \(table($0))" }
        let unfed = [
            "SELECT 1 FROM \(table("batch")) WHERE fed_to < last_id", "SELECT 1 FROM \(table("host")) WHERE has_passed",
        ]
        // One statement, so that an item that moves from one table to another is seen in one of them.
        let text = "SELECT NOT EXISTS (\((unfed + rest).joined(separator: ") AND NOT EXISTS (")))"
        return try await connection.run(text).first?.bool(0) ?? false
    }

    private var totalsStatement: SQLStatement {
        let most = Self.mostCounted
        func counted(_ name: String) -> String {
            "(SELECT count(*) FROM (SELECT 1 FROM \(table(name)) LIMIT \(most + 1)) c)"
        }
        func estimated(_ name: String) -> String {
            "(SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = '\(table(name))'::regclass)"
        }
        return SQLStatement(
            """
            SELECT b.items, b.unfed, CASE WHEN r.n > \(most) THEN greatest(r.n, \(estimated("ready"))) ELSE r.n END,
                CASE WHEN l.n > \(most) THEN greatest(l.n, \(estimated("later"))) ELSE l.n END,
                (SELECT count(*) FROM \(table("lease"))), p.completed, p.failed, p.retried, p.bytes,
                r.n > \(most) OR l.n > \(most), (SELECT count(*) FROM \(table("orphan_upload"))), p.cancelled
            FROM (SELECT coalesce(sum(items), 0)::bigint AS items, coalesce(sum(items - fed_items), 0)::bigint AS unfed
                    FROM \(table("batch"))) b,
                (SELECT \(counted("ready")) AS n) r, (SELECT \(counted("later")) AS n) l,
                (SELECT coalesce(sum(completed), 0)::bigint AS completed, coalesce(sum(failed), 0)::bigint AS failed,
                    coalesce(sum(retried), 0)::bigint AS retried, coalesce(sum(bytes), 0)::bigint AS bytes,
                    coalesce(sum(cancelled), 0)::bigint AS cancelled
                    FROM \(table("progress"))) p
            """
        )
    }

    private var rateStatement: SQLStatement {
        SQLStatement(
            """
            SELECT coalesce(sum(completed), 0) / t.seconds, coalesce(sum(bytes), 0) / t.seconds,
                coalesce(sum(greatest(failed, 0) + retried), 0) / t.seconds
            FROM (SELECT date_bin('10 s', clock_timestamp(), 'epoch') - interval '50 s' AS start,
                    extract(epoch FROM clock_timestamp() - date_bin('10 s', clock_timestamp(), 'epoch'))::float8 + 50
                        AS seconds) t
                LEFT JOIN \(table("progress")) p ON p.bucket >= t.start
            GROUP BY t.seconds
            """
        )
    }

    private var workersStatement: SQLStatement {
        SQLStatement(
            """
            SELECT w.worker_id, w.label, CASE WHEN \(isSilent) THEN 'dead' ELSE w.state END, count(l.item_id),
                count(l.item_id) FILTER (WHERE l.phase >= 2),
                extract(epoch FROM clock_timestamp() - w.beat_at)::float8,
                extract(epoch FROM clock_timestamp() - w.registered_at)::float8
            FROM \(table("worker")) w LEFT JOIN \(table("lease")) l ON l.worker_id = w.worker_id
            WHERE w.state = 'live' OR w.beat_at > clock_timestamp() - interval '1 hour'
            GROUP BY w.worker_id ORDER BY w.state <> 'live' OR \(isSilent), w.label, w.worker_id
            """
        )
    }

    /// Whether a worker was silent for its lease time. The next worker that looks for lost workers declares it dead.
    private var isSilent: String {
        "w.state = 'live' AND w.beat_at < clock_timestamp() - w.lease_s * interval '1 s'"
    }

    /// Returns the limits and the items of a host.
    ///
    /// - Throws: ``FleetError/Code/invalidInput`` if the queue does not know the host.
    package func host(_ host: String) async throws(FleetError) -> FleetStatus.Host {
        let name = try Self.hostName(host)
        let rows = try await connection.run([hostsStatement(1, name: name)])
        guard let row = rows.first?.first else {
            throw FleetError(
                .invalidInput,
                "The queue has no item and no limit of the host \(RelativePath.quoted(name))."
            )
        }
        return try FleetStatus.Host(row)
    }

    /// - Parameter name: the only host to return; `nil` for all.
    private func hostsStatement(_ limit: Int, name: String? = nil) -> SQLStatement {
        SQLStatement(
            """
            SELECT h.host_id, h.name, h.gap_ms, h.max_connections, coalesce(r.n, 0), coalesce(l.n, 0),
                coalesce(l.connections, 0),
                extract(epoch FROM greatest(h.blocked_until, t.now) - t.now)::float8, h.strikes, h.is_paused
            FROM (SELECT host_id, count(*) AS n FROM \(table("ready")) GROUP BY host_id) r
                FULL JOIN (SELECT host_id, count(*) AS n, sum(coalesce(connections, 1)) AS connections
                    FROM \(table("lease")) GROUP BY host_id) l USING (host_id)
                RIGHT JOIN \(table("host")) h USING (host_id)
                CROSS JOIN (SELECT clock_timestamp() AS now) t
            WHERE $2::text IS NULL OR h.name = $2
            ORDER BY coalesce(r.n, 0) + coalesce(l.n, 0) DESC, h.host_id LIMIT $1
            """,
            [.int(max(0, limit)), .text(name)]
        )
    }

    private var failuresStatement: SQLStatement {
        SQLStatement(
            """
            SELECT kind, sum(failed)::bigint, sum(retried)::bigint, (array_agg(item_id ORDER BY at DESC))[1],
                (array_agg(message ORDER BY at DESC))[1]
            FROM \(table("failure_count")) GROUP BY kind HAVING sum(failed) > 0 OR sum(retried) > 0
            ORDER BY sum(failed) DESC, kind
            """
        )
    }

    /// Finds the oldest transaction that may still see dead rows, among backends and prepared transactions. Backends of
    /// other roles show their times only to a role with `pg_read_all_stats`.
    private var oldestTransactionStatement: SQLStatement {
        SQLStatement(
            """
            SELECT seconds, holder FROM (
                SELECT extract(epoch FROM clock_timestamp() - xact_start)::float8 AS seconds,
                    format('process %s (%s, %s)', pid, coalesce(nullif(application_name, ''), backend_type), state) AS holder
                FROM pg_stat_activity
                WHERE (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL) AND pid <> pg_backend_pid()
                    AND xact_start IS NOT NULL
                UNION ALL
                SELECT extract(epoch FROM clock_timestamp() - prepared)::float8, format('prepared transaction %s', gid)
                FROM pg_prepared_xacts) t
            ORDER BY seconds DESC LIMIT 1
            """
        )
    }
}

extension FleetStatus.Totals {
    fileprivate init(_ row: DatabaseRow) throws(FleetError) {
        self.init(
            items: try row.int(0),
            unfed: try row.int(1),
            ready: try row.int(2),
            later: try row.int(3),
            leased: try row.int(4),
            completed: try row.int(5),
            failed: try row.int(6),
            cancelled: try row.int(11),
            retried: try row.int(7),
            bytes: try row.int(8),
            isEstimate: try row.bool(9)
        )
    }
}

extension FleetStatus.Worker {
    fileprivate init(_ row: DatabaseRow) throws(FleetError) {
        self.init(
            id: try row.int(0),
            label: try row.text(1),
            state: try row.text(2),
            heldItems: try row.int(3),
            publishing: try row.int(4),
            secondsSinceBeat: try row.double(5),
            secondsSinceStart: try row.double(6)
        )
    }
}

extension FleetStatus.Host {
    fileprivate init(_ row: DatabaseRow) throws(FleetError) {
        self.init(
            id: try row.int(0),
            name: try row.text(1),
            gapMilliseconds: try row.int(2),
            maxConnections: try row.optionalInt(3),
            ready: try row.int(4),
            leased: try row.int(5),
            connections: try row.int(6),
            blockedSeconds: try row.double(7),
            strikes: try row.int(8),
            isPaused: try row.bool(9)
        )
    }
}

extension FleetStatus.FailureCount {
    fileprivate init(_ row: DatabaseRow) throws(FleetError) {
        self.init(
            kind: try row.text(0),
            failed: try row.int(1),
            retried: try row.int(2),
            exampleItem: try row.int(3),
            exampleMessage: try row.text(4)
        )
    }
}
