import Foundation
import HaulKit
import Testing

@testable import HaulFleet

/// Makes the same calls on the PostgreSQL queue and on the simulated queue, and compares their states after each call.
///
/// The test lets time pass by moving all times in the tables. It copies random delays and the duration of calls from
/// the server to the model. No time stays near the moment at which it matters, so a slow machine changes nothing.
final class ComparedQueues {
    static let hosts: [SimulatedQueue.Host] = [
        .init(nextAt: past),
        .init(gap: 2_000_000_000_000, nextAt: past),
        .init(maxConnections: 2, nextAt: past),
        .init(gap: 1_000_000_000, maxConnections: 3, nextAt: past),
    ]
    /// A time earlier than every time of a server.
    static let past = Int64.min / 4
    static let near: Int64 = 300_000_000_000

    let database: TestDatabase
    let queue: PostgresQueue
    var model: SimulatedQueue
    /// Maps a worker of the model to the worker of the server. `workers` maps the other direction.
    var numbers: [WorkerID: WorkerID] = [:]
    var workers: [WorkerID: WorkerID] = [:]
    var claimNumbers: [WorkerID: Int] = [:]
    var steps: [String] = []

    init(_ database: TestDatabase, items: Int, maxLosses: Int) async throws {
        self.database = database
        queue = database.queue()
        var rules = SimulatedQueue.Rules()
        (rules.leaseTime, rules.maxAttempts, rules.maxLosses, rules.window) = (.seconds(6000), 3, maxLosses, .max)
        model = SimulatedQueue(rules: rules, hosts: Self.hosts, itemHosts: (0..<items).map { $0 % Self.hosts.count })
        model.startedAt = Self.past
        try await database.add((0..<items).map { NewItem(url: "http://h\($0 % Self.hosts.count).example/\($0)") })
        let setting = "UPDATE setting SET lease_s = 6000, max_attempts = 3, max_losses = $1"
        try await database.sql(setting, [.int(maxLosses)])
        for (number, host) in Self.hosts.enumerated() {
            let text = "UPDATE host SET gap_ms = $1, max_connections = $2 WHERE name = $3 AND host_id = $4"
            let parameters: [SQLParameter] = [
                .int(host.gap / 1_000_000), .int(host.maxConnections), .text("h\(number).example"), .int(number + 1),
            ]
            #expect(try await database.sql(text, parameters).affected == 1)
        }
        // Replaces the start time of the server, because the server of the tests has run for less than a lease.
        try await database.sql(
            """
            CREATE OR REPLACE FUNCTION writable_since() RETURNS timestamptz LANGUAGE sql AS $$ SELECT '-infinity'::timestamptz $$
            """
        )
    }

    var now: Int64 {
        get async throws {
            let text = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
            return try await database.sql(text).first.map { try $0.int(0) * 1000 } ?? 0
        }
    }

    // MARK: Time

    /// Lets `time` pass, and more time while anything is about to become due.
    func pass(_ time: Int64) async throws {
        var time = time
        while true {
            if time > 0 {
                let step = "interval '1 microsecond' * \(time / 1000)"
                try await database.sql("UPDATE worker SET beat_at = beat_at - \(step)")
                try await database.sql("UPDATE later SET due_at = due_at - \(step)")
                try await database.sql("UPDATE lease SET starts_at = starts_at - \(step)")
                try await database.sql(
                    "UPDATE host SET next_at = next_at - \(step), blocked_until = blocked_until - \(step)"
                )
                try await takeTimes()
            }
            let now = try await now
            let lease = model.rules.leaseTime.nanoseconds
            let times =
                model.hosts.flatMap { [$0.nextAt, $0.blockedUntil] } + model.later.compactMap { $0?.dueAt }
                + model.workers.values.filter { $0.state == .live }.map { $0.beatAt + lease }
            guard times.contains(where: { abs($0 - now) < Self.near }) else { return }
            time = 2 * Self.near + 1_000_000_000
        }
    }

    /// Copies the times of the server into the model.
    func takeTimes() async throws {
        let epoch = { (column: String) in "coalesce((extract(epoch FROM \(column)) * 1000000)::bigint, -1)" }
        let finite = { (column: String) in "CASE WHEN isfinite(\(column)) THEN \(epoch(column)) ELSE -1 END" }
        let hosts = "SELECT host_id, \(finite("next_at")), \(finite("blocked_until")) FROM host"
        for row in try await database.sql(hosts) {
            let index = try row.int(0, as: Int.self) - 1
            model.hosts[index].nextAt = try Self.time(row.int(1))
            model.hosts[index].blockedUntil = try Self.time(row.int(2))
        }
        for row in try await database.sql("SELECT item_id, \(epoch("due_at")) FROM later") {
            model.later[try row.int(0, as: Int.self) - 1]?.dueAt = try Self.time(row.int(1))
        }
        for row in try await database.sql(
            "SELECT item_id, \(epoch("starts_at")) FROM lease WHERE starts_at IS NOT NULL"
        ) {
            model.lease[try row.int(0, as: Int.self) - 1]?.startsAt = try Self.time(row.int(1))
        }
        for row in try await database.sql("SELECT worker_id, \(epoch("beat_at")) FROM worker") {
            guard let worker = workers[try row.int(0)] else { continue }
            model.workers[worker]?.beatAt = try Self.time(row.int(1))
        }
    }

    private static func time(_ microseconds: Int64) -> Int64 { microseconds == -1 ? past : microseconds * 1000 }

    // MARK: State

    /// Returns every table of the server as lines, with the worker numbers of the model.
    func serverState() async throws -> [String] {
        var lines: [String] = []
        for row in try await database.sql("SELECT item_id, epoch, attempt, losses, returned_by, upload_id FROM ready") {
            lines.append("ready \(try row.int(0, as: Int.self)): " + (try line(row, 1)))
        }
        let later = "SELECT item_id, epoch, attempt, losses, returned_by, upload_id, alone FROM later"
        for row in try await database.sql(later) {
            lines.append("later \(try row.int(0, as: Int.self)): \(try line(row, 1)), suspect \(try row.bool(6))")
        }
        let lease = """
            SELECT item_id, epoch, attempt, losses, NULL, upload_id, worker_id, claim_number, connections, phase = 2, alone
            FROM lease
            """
        for row in try await database.sql(lease) {
            let worker = workers[try row.int(6)] ?? -1
            let connections = try row.optionalInt(8, as: Int.self).map { "\($0)" } ?? "any"
            lines.append(
                "lease \(try row.int(0, as: Int.self)): \(try line(row, 1)), worker \(worker), claim \(try row.int(7, as: Int.self)), "
                    + "\(connections), \(try row.bool(9)), suspect \(try row.bool(10))"
            )
        }
        for row in try await database.sql(
            "SELECT item_id, epoch, worker_id, outcome, coalesce(failure_kind, '') FROM done"
        ) {
            lines.append(
                "done \(try row.int(0, as: Int.self)): \(try row.int(1, as: Int.self)) by \(workers[try row.int(2)] ?? -1), "
                    + "\(try row.int(3, as: Int.self)) \(try row.text(4))"
            )
        }
        for row in try await database.sql("SELECT worker_id, state, makes_room FROM worker") {
            let room = try row.bool(2) ? ", makes room" : ""
            lines.append("worker \(workers[try row.int(0)] ?? -1): \(try row.text(1))\(room)")
        }
        for row in try await database.sql("SELECT item_id, upload_id FROM orphan_upload") {
            lines.append("orphan \(try row.int(0, as: Int.self)): \(try row.text(1))")
        }
        return lines.sorted()
    }

    private func line(_ row: DatabaseRow, _ first: Int) throws -> String {
        let by = try row.optionalInt(first + 3, as: WorkerID.self).map { "\(workers[$0] ?? -1)" } ?? "no worker"
        return try "epoch \(row.int(first, as: Int.self)), attempt \(row.int(first + 1, as: Int.self)), "
            + "losses \(row.int(first + 2, as: Int.self)), by \(by), \(row.optionalText(first + 4) ?? "none")"
    }

    private func line(_ row: SimulatedQueue.Row, isLeased: Bool = false) -> String {
        let by = isLeased ? "no worker" : row.returnedBy.map { "\($0)" } ?? "no worker"
        return "epoch \(row.epoch), attempt \(row.attempt), losses \(row.losses), by \(by), \(row.uploadID ?? "none")"
    }

    func modelState() -> [String] {
        var lines: [String] = []
        for index in 0..<model.itemCount {
            if let row = model.ready[index] { lines.append("ready \(index + 1): \(line(row))") }
            if let row = model.later[index] {
                lines.append("later \(index + 1): \(line(row.row)), suspect \(row.isSuspect)")
            }
            if let row = model.lease[index] {
                let connections = row.connections.map { "\($0)" } ?? "any"
                lines.append(
                    "lease \(index + 1): \(line(row.row, isLeased: true)), worker \(row.worker), claim \(row.claimNumber), "
                        + "\(connections), \(row.isPublishing), suspect \(row.isSuspect)"
                )
            }
            guard let row = model.done[index] else { continue }
            let kind = if case .failed(let failure) = row.outcome { "1 \(failure.kind)" } else { "0 " }
            lines.append("done \(index + 1): \(row.epoch) by \(row.worker), \(kind)")
        }
        for (id, worker) in model.workers {
            lines.append("worker \(id): \(worker.state)" + (worker.makesRoom ? ", makes room" : ""))
        }
        for orphan in model.orphans { lines.append("orphan \(orphan.item): \(orphan.uploadID)") }
        return lines.sorted()
    }
}
