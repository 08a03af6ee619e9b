internal import HaulKit

/// The queue's record of shards. ``PostgresQueue`` implements it.
///
/// A shard is opened before it gets its name, and completed with the results of all its items in one transaction
/// afterwards. A shard that stays open without a living worker is abandoned: another worker removes what it has at the
/// destination, and its items run again.
protocol ShardLedger: Sendable {
    /// Returns number and name of a new shard. Throws ``FleetError/Code/workerUnknown`` if the worker does not count as
    /// alive.
    func openShard(_ worker: WorkerID, _ shard: ShardFile.Summary) async throws(FleetError) -> (
        number: Int64, name: String
    )
    /// Completes those of the files whose content is in a complete shard of a destination, without another copy, and
    /// returns them. The call may be repeated.
    ///
    /// - Parameter contents: ``ShardSettings/contents``.
    func completeDuplicates(
        _ worker: WorkerID,
        _ files: [StagedFile],
        of contents: Int32
    ) async throws(FleetError) -> Set<LeaseKey>
    /// Writes the results of the items. Returns `false` if the worker has lost one of them; the shard is abandoned then.
    /// The call may be repeated.
    ///
    /// - Parameter contents: ``ShardSettings/contents``; the contents are remembered for further duplicates.
    func completeShard(
        _ worker: WorkerID,
        _ number: Int64,
        _ items: [ShardItem],
        contents: Int32?
    ) async throws(FleetError) -> Bool
    /// Gives a shard up. Returns `false` if it is complete.
    func abandonShard(_ worker: WorkerID, _ number: Int64) async throws(FleetError) -> Bool
    /// Takes abandoned shards, of any worker. The caller has a minute to remove them.
    func abandonedShards(limit: Int) async throws(FleetError) -> [AbandonedShard]
    /// Forgets abandoned shards of which the destination has nothing any more.
    func forgetShards(_ numbers: [Int64]) async throws(FleetError)
}

/// The file of an item inside a shard.
struct ShardItem: Sendable, Hashable {
    var key: LeaseKey
    var bytes: Int64
    /// SHA-256 of the file, 32 bytes.
    var sha256: [UInt8]
    /// The entity tag or date of the file at its server; `nil` if it had none.
    var validator: String?
    /// Place of the file's first byte in the shard.
    var offset: Int64
    /// The item whose bytes in the shard these are; `nil` for an item with bytes of its own.
    var first: Int64?

    init(_ file: StagedFile, at offset: Int64, sharing first: Int64? = nil) {
        (key, bytes, sha256, validator) = (file.key, file.bytes, file.sha256, file.validator)
        (self.offset, self.first) = (offset, first)
    }
}

struct AbandonedShard: Sendable, Hashable {
    var number: Int64
    /// Path of the shard below the destination.
    var path: String
    /// Path of the file without a name, below the folder `.haul-fleet` of a destination that is a folder.
    var staged: String
    var bytes: Int64
    /// SHA-256 of the shard, 32 bytes.
    var sha256: [UInt8]
}

extension PostgresQueue: ShardLedger {
    func openShard(
        _ worker: WorkerID,
        _ shard: ShardFile.Summary
    ) async throws(FleetError) -> (number: Int64, name: String) {
        let rows = try await work.run(
            function("open_shard($1, $2, $3, $4, $5)"),
            [
                .int(worker), .text(shard.format.rawValue), .text(shard.staged), .int(shard.bytes),
                .bytes(shard.sha256),
            ]
        )
        let row = try Self.onlyRow(rows)
        return (try row.int(0), try row.text(1))
    }

    func completeDuplicates(
        _ worker: WorkerID,
        _ files: [StagedFile],
        of contents: Int32
    ) async throws(FleetError) -> Set<LeaseKey> {
        guard !files.isEmpty else { return [] }
        let keys = files.map(\.key)
        let parameters: [SQLParameter] = [
            .int(worker), .ints(keys.map(\.item)), .ints(keys.map(\.epoch)), .byteArrays(files.map(\.sha256)),
            .texts(files.map(\.validator)), .int(contents),
        ]
        return try Self.keys(try await work.run(function("complete_duplicates($1, $2, $3, $4, $5, $6)"), parameters))
    }

    func completeShard(
        _ worker: WorkerID,
        _ number: Int64,
        _ items: [ShardItem],
        contents: Int32?
    ) async throws(FleetError) -> Bool {
        let rows = try await work.run(
            function("complete_shard($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"),
            [
                .int(worker), .int(number), .ints(items.map(\.key.item)), .ints(items.map(\.key.epoch)),
                .ints(items.map(\.bytes)), .byteArrays(items.map(\.sha256)), .ints(items.map(\.offset)),
                .ints(items.map(\.first)), .texts(items.map(\.validator)),
                .int(contents),
            ]
        )
        return try Self.onlyRow(rows).bool(0)
    }

    func abandonShard(_ worker: WorkerID, _ number: Int64) async throws(FleetError) -> Bool {
        try Self.onlyRow(try await work.run(function("abandon_shard($1, $2)"), [.int(worker), .int(number)])).bool(0)
    }

    func abandonedShards(limit: Int) async throws(FleetError) -> [AbandonedShard] {
        var shards: [AbandonedShard] = []
        for row in try await work.run(function("take_abandoned_shards($1)"), [.int(limit)]) {
            shards.append(
                AbandonedShard(
                    number: try row.int(0),
                    path: try row.text(1),
                    staged: try row.text(2),
                    bytes: try row.int(3),
                    sha256: try row.bytes(4)
                )
            )
        }
        return shards
    }

    func forgetShards(_ numbers: [Int64]) async throws(FleetError) {
        guard !numbers.isEmpty else { return }
        _ = try await work.run(function("forget_shards($1)"), [.ints(numbers)])
    }

    static func onlyRow(_ rows: DatabaseRows) throws(FleetError) -> DatabaseRow {
        guard let row = rows.first else { throw noAnswer }
        return row
    }
}
