import Foundation
import Testing

@testable import HaulFleet

/// Makes each call on both queues and expects the same answer.
extension ComparedQueues {
    func same<Value: Equatable>(_ server: Value, _ model: Value, _ what: String) {
        #expect(server == model, "\(what), after: \(steps.suffix(12).joined(separator: "; "))")
    }

    func register(predecessor: WorkerID?) async throws {
        let answer = try await queue.register(label: "compared", predecessor: predecessor.flatMap { numbers[$0] })
        let expected = model.register(predecessor: predecessor, at: try await now)
        (numbers[expected.worker], workers[answer.worker]) = (answer.worker, expected.worker)
        claimNumbers[expected.worker] = 0
        same(answer.leases.map(\.key).sorted(), expected.leases.map(\.key).sorted(), "leases taken over")
        same(answer.leaseTime, expected.leaseTime, "lease time")
    }

    private func code<Value>(_ call: () async throws(FleetError) -> Value) async throws -> Result<Value, FleetError> {
        do throws(FleetError) { return .success(try await call()) } catch { return .failure(error) }
    }

    func beat(_ worker: WorkerID) async throws {
        let answer = try await code { () async throws(FleetError) in try await queue.beat(numbers[worker] ?? 0) }
        let time = try await now
        let expected = try await code { () async throws(FleetError) in try model.beat(worker, at: time) }
        switch (answer, expected) {
        case (.success(let one), .success(let other)):
            let hosts = Dictionary(uniqueKeysWithValues: one.blockedHosts.map { ($0.key - 1, $0.value) })
            same(hosts.keys.sorted(), other.blockedHosts.keys.sorted(), "blocked hosts")
            same([one.isPaused, one.isDraining], [other.isPaused, other.isDraining], "paused, draining")
            same(one.cancelled.sorted(), other.cancelled.sorted(), "cancelled leases")
        case (.failure(let one), .failure(let other)): same(one.code, other.code, "refused beat")
        default: Issue.record("beat: \(answer), expected \(expected), after: \(steps.suffix(12))")
        }
    }

    /// - Parameter isRepeated: whether to reuse a claim number. The last number simulates a lost answer; an earlier
    ///   number simulates a request that arrives late.
    func claim(_ worker: WorkerID, limit: Int, isRepeated: Bool) async throws {
        let last = claimNumbers[worker] ?? 0
        let number = isRepeated ? max(1, last - limit % 3) : last + 1
        claimNumbers[worker] = max(last, number)
        let text =
            "SELECT item_id, epoch, attempt, connections, is_drained, is_paused, next_due_ms FROM claim($1, $2, $3)"
        let parameters: [SQLParameter] = [.int(numbers[worker] ?? 0), .int(number), .int(limit)]
        let time = try await now
        let expected = try await code { () async throws(FleetError) in
            try model.claim(worker, number: number, limit: limit, at: time)
        }
        let rows: DatabaseRows
        do { rows = try await database.sql(text, parameters) } catch {
            if case .success = expected { Issue.record("claim: \(error), after: \(steps.suffix(12))") }
            return
        }
        guard case .success(let claim) = expected else {
            Issue.record("claim of a dead worker is answered, after: \(steps.suffix(12))")
            return
        }
        var leases: [String] = []
        for row in rows where !row.isNull(0) {
            leases.append(
                "\(try row.int(0, as: Int64.self)) \(try row.int(1, as: Int32.self)) \(try row.int(2, as: Int.self)) "
                    + "\(try row.optionalInt(3, as: Int.self).map { "\($0)" } ?? "any")"
            )
        }
        let given = claim.leases.map {
            "\($0.key.item) \($0.key.epoch) \($0.attempt) \($0.connections.map { "\($0)" } ?? "any")"
        }
        same(leases.sorted(), given.sorted(), "claimed leases")
        guard leases.isEmpty, let row = rows.first else { return }
        same(try [row.bool(4), row.bool(5)], [claim.isDrained, claim.isPaused], "drained, paused")
        if claim.nextDue != nil { same(row.isNull(6), false, "something is due") }
    }

    func gate(_ worker: WorkerID, _ keys: [LeaseKey]) async throws {
        same(try await queue.gate(numbers[worker] ?? 0, keys), model.gate(worker, keys), "gate")
    }

    func recordUpload(_ worker: WorkerID, _ key: LeaseKey, _ upload: String) async throws {
        let answer = try await queue.recordUpload(numbers[worker] ?? 0, key, uploadID: upload)
        same(answer, model.recordUpload(worker, key, upload), "recorded upload")
    }

    func report(_ worker: WorkerID, _ reports: [Report]) async throws {
        let answer = try await queue.report(numbers[worker] ?? 0, reports)
        same(answer, model.report(worker, reports, at: try await now), "accepted reports")
    }

    func leave(_ worker: WorkerID) async throws {
        try await queue.leave(numbers[worker] ?? 0)
        model.leave(worker, at: try await now)
    }

    func maintain() async throws {
        let expected = model.maintain(at: try await now)
        let answer = try await queue.maintain()
        same(answer.lostWorkers.compactMap { workers[$0] }.sorted(), expected.lostWorkers, "lost workers")
        same(
            [answer.returnedItems, answer.promotedItems, answer.fedItems],
            [expected.returnedItems, expected.promotedItems, expected.fedItems],
            "maintenance"
        )
    }

    func block(_ host: Int, _ duration: Duration) async throws {
        try await queue.block(hostID: Int32(host + 1), for: duration)
        model.block(host, duration, at: try await now)
    }

    func reserve(_ host: Int, _ requests: Int) async throws {
        let expected = model.reserve(host, requests, at: try await now)
        let answer = try await queue.reserve(hostID: Int32(host + 1), requests: requests)
        same(answer.gap, expected.gap, "gap")
        same(answer.startsAfter > .seconds(1), expected.startsAfter > .seconds(1), "a reserved start")
    }

    func cancel(_ item: Int?) async throws {
        let administration = QueueAdministration(database.connection, .standard)
        let answer = try await administration.cancel(item.map { .item(Int64($0 + 1)) } ?? .all)
        same(answer.cancelled, Int64(model.cancel(item)), "cancelled items")
        let publishing = model.lease.enumerated().count { index, row in
            row?.isPublishing == true && item ?? index == index
        }
        same(answer.publishing, Int64(publishing), "items that are being published")
    }

    func set(paused: Bool, draining: Bool) async throws {
        (model.isPaused, model.isDraining) = (paused, draining)
        try await database.sql("UPDATE setting SET is_paused = $1, is_draining = $2", [.bool(paused), .bool(draining)])
    }

    func abortOrphans() async throws {
        let uploads = try await queue.orphanUploads(limit: 100)
        try await queue.forget(uploads)
        let ids = Set(uploads.map(\.uploadID))
        same(ids, Set(model.orphans.map(\.uploadID)), "orphaned uploads")
        model.orphans.removeAll { ids.contains($0.uploadID) }
    }
}
