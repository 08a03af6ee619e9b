/// Where a worker writes files, and in what form.
struct DestinationSettings: Sendable {
    /// In the form that ``DestinationText`` writes; `nil` if the queue has no destination.
    private var destination: String?
    /// The settings of the shards; `nil` if each file has a name of its own.
    private(set) var shards: ShardSettings?

    init(_ destination: String?, shards: ShardSettings?) { (self.destination, self.shards) = (destination, shards) }

    /// - Throws: ``FleetError/Code/databaseRefused`` if the queue has no destination.
    var text: String {
        get throws(FleetError) {
            guard let destination else {
                throw FleetError(
                    .databaseRefused,
                    "The queue has no destination: run haul-fleet init --to DESTINATION."
                )
            }
            return destination
        }
    }

    /// Replaces the destination of the queue by another one for this worker. Forgets the contents that other workers
    /// have written, because they are at the destination of the queue.
    mutating func replace(with destination: String) {
        self.destination = destination
        shards?.contents = nil
    }
}

extension PostgresQueue {
    /// Returns the destination of the queue and its shards. Waits while the database is unreachable, so that a worker
    /// can start during a restart of the database.
    ///
    /// - Parameter onWait: called once, with the first failure.
    func destinationWhenReachable(
        onWait: (FleetError) -> Void
    ) async throws(FleetError) -> DestinationSettings {
        try await whenReachable(firstDelay: .milliseconds(500), onWait: onWait) { () throws(FleetError) in
            try await destination()
        }
    }

    /// Returns the destination of the queue and its shards, as one `init` has set them.
    func destination() async throws(FleetError) -> DestinationSettings {
        let row = try Self.onlyRow(try await work.run(function("destination()")))
        let shards = try Self.format(row.optionalText(1)).map { format throws(FleetError) in
            var settings = ShardSettings(format, bytes: try row.int(2))
            settings.contents = try row.optionalInt(3)
            return settings
        }
        return DestinationSettings(row.optionalText(0), shards: shards)
    }

    static func format(_ text: String?) throws(FleetError) -> ShardSettings.Format? {
        guard let text else { return nil }
        guard let format = ShardSettings.Format(rawValue: text) else {
            throw FleetError(.databaseRefused, "The queue has shards of the unknown format \(text).")
        }
        return format
    }
}
