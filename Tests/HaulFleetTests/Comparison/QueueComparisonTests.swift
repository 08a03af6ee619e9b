import HaulKit
import Testing

@testable import HaulFleet

/// Makes random calls on the PostgreSQL queue and on the simulated queue. The results of the simulated histories hold
/// for the SQL only as far as the two queues agree.
@Suite(.timeLimit(.minutes(60))) struct QueueComparisonTests {
    @Test func theServerDoesWhatTheSimulationDoes() async throws {
        var seen: Set<String> = []
        for seed in UInt64(1)...20 {
            try await TestDatabase.with { database async throws in
                try await Self.compare(seed, database, &seen)
            }
        }
        // The test proves nothing about tables and outcomes that it never reached.
        for part in [
            "ready", "later", "lease", "done", "orphan", "worker_lost", "gone", "dead", "left", "true", "room",
            "cancelled",
        ] {
            #expect(seen.contains(part), "never seen: \(part)")
        }
    }

    private static func compare(_ seed: UInt64, _ database: TestDatabase, _ seen: inout Set<String>) async throws {
        var random = SplitMix64(seed: seed)
        let queues = try await ComparedQueues(database, items: 14, maxLosses: seed % 2 == 0 ? 2 : 1)
        var reported: [(WorkerID, [Report])] = []
        for step in 0..<120 {
            try await queues.pass(0)
            try await call(queues, &random, &reported, step)
            let (server, model) = (try await queues.serverState(), queues.modelState())
            #expect(server == model, "seed \(seed): \(queues.steps.suffix(15).joined(separator: "; "))")
            guard server == model else { return }
            for line in server { seen.formUnion(line.split { !$0.isLetter && $0 != "_" }.map(String.init)) }
            try await queues.takeTimes()
        }
    }

    private static func call(
        _ queues: ComparedQueues,
        _ random: inout SplitMix64,
        _ reported: inout [(WorkerID, [Report])],
        _ step: Int
    ) async throws {
        func pick(_ count: Int) -> Int { Int(random.next() % UInt64(max(1, count))) }
        let all = queues.model.workers.keys.sorted()
        let worker = all.isEmpty ? 0 : all[pick(all.count)]
        let leases = queues.model.lease.enumerated().compactMap { index, row in
            row.map { (worker: $0.worker, key: LeaseKey(item: Int64(index + 1), epoch: $0.row.epoch)) }
        }
        let held = leases.filter { $0.worker == worker && pick(3) > 0 }.map(\.key)
        // Adds keys of other workers and of other epochs.
        let other = leases.filter { _ in pick(8) == 0 }.map {
            LeaseKey(item: $0.key.item, epoch: $0.key.epoch - Int32(pick(2)))
        }
        let keys = Array(Set(held + other)).sorted()
        let kind = all.isEmpty ? 0 : pick(27)
        queues.steps.append("\(step): \(kind) of \(worker), \(keys.map { "\($0.item).\($0.epoch)" })")
        switch kind {
        case 0: try await queues.register(predecessor: pick(2) == 0 ? nil : worker)
        case 24:
            if let row = queues.model.lease.compactMap({ $0 }).first {
                try await queues.register(predecessor: row.worker)
            }
        // Rarely, and all only near the end, so that the other calls find items.
        case 25: if pick(4) == 0 { try await queues.cancel(step > 110 ? nil : pick(queues.model.itemCount)) }
        case 1, 2, 3, 26: try await queues.beat(worker)
        case 4, 5, 6, 7, 8: try await queues.claim(worker, limit: 1 + pick(6), isRepeated: pick(4) == 0)
        case 9, 10: try await queues.gate(worker, keys)
        case 11: if let key = keys.first { try await queues.recordUpload(worker, key, "u\(pick(40))") }
        case 12, 13, 14, 15:
            let reports = keys.map { Report($0, outcome(pick(4), pick(6))) }
            reported.append((worker, reports))
            try await queues.report(worker, reports)
        case 16:
            if let (worker, reports) = reported.randomElement(using: &random) {
                try await queues.report(worker, reports)
            }
        case 17: if pick(3) == 0 { try await queues.leave(worker) }
        case 18, 19: try await queues.maintain()
        case 20: try await queues.block(pick(4), .seconds(1000 * (1 + pick(6))))
        case 21: try await queues.reserve(pick(4), 1 + pick(3))
        case 22:
            try await queues.set(paused: pick(6) == 0, draining: pick(8) == 0)
            try await queues.abortOrphans()
        default: try await queues.pass(Int64(1000 * (1 + pick(9))) * 1_000_000_000)
        }
    }

    private static func outcome(_ kind: Int, _ number: Int) -> Report.Outcome {
        switch kind {
        case 0: .completed(CompletedFile(bytes: 1, sha256: Array(repeating: 1, count: 32)))
        case 1: .failed(Failure("gone", "It is gone."))
        case 2: .retry(Failure("network", "It broke."), delay: .seconds(1000 * (1 + number)))
        default: .returned
        }
    }
}
