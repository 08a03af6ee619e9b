internal import HaulKit

/// Shows and changes a queue for a person: its status, items and settings, the limits of hosts, and failed items.
package struct QueueAdministration: Sendable {
    let connection: DatabaseConnection
    let queue: QueueName

    package init(_ connection: DatabaseConnection, _ queue: QueueName) {
        (self.connection, self.queue) = (connection, queue)
    }

    /// Returns the quoted name of a table of the queue, with its schema.
    func table(_ name: String) -> String { "\(queue.quoted).\(name)" }

    // MARK: Settings

    package func settings() async throws(FleetError) -> QueueSettings {
        try QueueSettings(try await connection.run(settingsStatement))
    }

    var settingsStatement: String {
        """
        SELECT destination, lease_s, max_attempts, max_losses, is_paused, is_draining, default_gap_ms,
            default_max_connections, shard_format, shard_bytes, deduplicates FROM \(table("setting"))
        """
    }

    /// Writes all settings. A new lease time applies to a worker from its next beat on. A new destination removes the
    /// stored mark of the old one.
    ///
    /// - Throws: ``FleetError/Code/invalidInput`` for a value out of range.
    package func update(_ settings: QueueSettings) async throws(FleetError) {
        let leaseSeconds = QueueSettings.leaseSecondsRange
        let isValid =
            leaseSeconds.contains(settings.leaseSeconds) && settings.maxAttempts > 0 && settings.maxLostWorkers > 0
            && settings.defaultGapMilliseconds >= 0 && settings.defaultMaxConnections ?? 1 > 0
            && ShardSettings.bytesRange.contains(settings.shardBytes)
        guard isValid else {
            throw FleetError(
                .invalidInput,
                "The lease time is \(leaseSeconds.lowerBound) to \(leaseSeconds.upperBound) s, attempts, lost workers and connections are at least 1, a gap is not negative, a shard has 1 KiB to 1 TiB."
            )
        }
        let text = """
            UPDATE \(table("setting")) SET destination = $1, lease_s = $2, max_attempts = $3, max_losses = $4,
                is_paused = $5, is_draining = $6, default_gap_ms = $7, default_max_connections = $8,
                shard_format = $9, shard_bytes = $10, deduplicates = $11,
                destination_mark = CASE WHEN destination IS NOT DISTINCT FROM $1 THEN destination_mark END,
                destination_number = destination_number + (destination IS DISTINCT FROM $1)::integer
            """
        _ = try await connection.run(
            text,
            [
                .text(settings.destination), .int(settings.leaseSeconds), .int(settings.maxAttempts),
                .int(settings.maxLostWorkers), .bool(settings.isPaused), .bool(settings.isDraining),
                .int(settings.defaultGapMilliseconds), .int(settings.defaultMaxConnections),
                .text(settings.shardFormat?.rawValue), .int(settings.shardBytes), .bool(settings.deduplicates),
            ]
        )
    }

    /// Stops giving out items. Workers finish the items that they hold.
    package func pause() async throws(FleetError) { try await setState(paused: true, draining: false) }

    /// Stops giving out items. Workers finish the items that they hold and then end.
    package func drain() async throws(FleetError) { try await setState(paused: false, draining: true) }

    /// Ends a pause or a drain.
    package func resume() async throws(FleetError) { try await setState(paused: false, draining: false) }

    private func setState(paused: Bool, draining: Bool) async throws(FleetError) {
        let text = "UPDATE \(table("setting")) SET is_paused = $1, is_draining = $2"
        _ = try await connection.run(text, [.bool(paused), .bool(draining)])
    }

    // MARK: Hosts

    /// Sets the limits of a host, which may have no item yet. A `nil` limit stays unchanged; a new host gets the
    /// queue's default. The limits apply to later claims.
    ///
    /// - Parameters:
    ///   - gap: minimum time between requests of the whole fleet; zero for none.
    ///   - maxConnections: maximum number of simultaneous connections of the whole fleet; 0 for no limit.
    package func setLimits(host: String, gap: Duration?, maxConnections: Int32?) async throws(FleetError) {
        let name = try Self.hostName(host)
        guard maxConnections ?? 0 >= 0, gap ?? .zero >= .zero else {
            throw FleetError(.invalidInput, "The limits of a host are not negative.")
        }
        let text = """
            INSERT INTO \(table("host")) AS h (name, gap_ms, max_connections)
            SELECT $1, coalesce($2::integer, default_gap_ms),
                CASE WHEN $3::integer = 0 THEN NULL ELSE coalesce($3, default_max_connections) END
            FROM \(table("setting"))
            ON CONFLICT (name) DO UPDATE SET gap_ms = coalesce($2, h.gap_ms),
                max_connections = CASE WHEN $3 = 0 THEN NULL ELSE coalesce($3, h.max_connections) END
            """
        let milliseconds = gap.map { Int32(clamping: min($0.wholeMilliseconds, 86_400_000)) }
        _ = try await connection.run(text, [.text(name), .int(milliseconds), .int(maxConnections)])
    }

    /// Pauses or resumes a host of the queue. Workers give back the items of a paused host that are not transferring,
    /// within a beat, and ask for items of a resumed one within a minute.
    ///
    /// - Throws: ``FleetError/Code/invalidInput`` if the queue does not know the host.
    package func setPaused(_ isPaused: Bool, host: String) async throws(FleetError) {
        let id = try await self.host(host).id
        let text = "UPDATE \(table("host")) SET is_paused = $1 WHERE host_id = $2"
        _ = try await connection.run(text, [.bool(isPaused), .int(id)])
    }

    /// Returns the name of a host as the queue stores it.
    static func hostName(_ host: String) throws(FleetError) -> String {
        guard let name = HostName(typed: host)?.text else {
            throw FleetError(
                .invalidInput,
                "\(RelativePath.quoted(host)) is no host: it is a name such as example.org or example.org:8080."
            )
        }
        return name
    }

    // MARK: Failed items

    /// Selects failed items. A `nil` member selects all.
    package struct FailureFilter: Sendable, Hashable {
        package var kind: String?
        package var host: String?
        package var item: Int64?

        package init(kind: String? = nil, host: String? = nil, item: Int64? = nil) {
            (self.kind, self.host, self.item) = (kind, host, item)
        }
    }

    /// Makes failed items due again with all of their attempts. Items that already wait for an attempt are not failed,
    /// so a second call changes nothing.
    ///
    /// - Returns: the number of items.
    package func retry(_ filter: FailureFilter = FailureFilter()) async throws(FleetError) -> Int64 {
        let chunk = 20_000
        let parameters: [SQLParameter] = [.text(filter.kind), .text(filter.host), .int(filter.item), .int(chunk)]
        var all: Int64 = 0
        while true {
            let rows = try await connection.run(
                "SELECT \(table("retry_failed($1, $2, $3, $4)"))",
                parameters,
                .loading
            )
            let count = try rows.first?.int(0, as: Int64.self) ?? 0
            all = all.addingClamped(count)
            if count < chunk { return all }
        }
    }
}

extension QueueSettings {
    init(_ rows: DatabaseRows) throws(FleetError) {
        guard let row = rows.first else {
            throw FleetError(.databaseRefused, "The queue is damaged: it has no settings.")
        }
        destination = row.optionalText(0)
        (leaseSeconds, maxAttempts, maxLostWorkers) = (try row.int(1), try row.int(2), try row.int(3))
        (isPaused, isDraining) = (try row.bool(4), try row.bool(5))
        (defaultGapMilliseconds, defaultMaxConnections) = (try row.int(6), try row.optionalInt(7))
        shardFormat = try PostgresQueue.format(row.optionalText(8))
        (shardBytes, deduplicates) = (try row.int(9), try row.bool(10))
    }
}
