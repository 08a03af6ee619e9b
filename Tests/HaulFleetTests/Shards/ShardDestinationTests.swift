import Foundation
import HaulTesting
import Logging
import Testing

@testable import HaulFleet

/// Writes shards in a folder with a queue in PostgreSQL. Each item is in one complete shard, also if workers die.
@Suite(.timeLimit(.minutes(60))) struct ShardDestinationTests {
    /// A queue with ready items, a destination, and the worker that has leased all items.
    private struct Rig {
        let database: TestDatabase
        let queue: PostgresQueue
        let root: TemporaryFolder
        let folder: FolderDestination
        let destination: ShardDestination
        let worker: WorkerID
        let files: [PreparedFile]

        var names: [String] {
            get throws {
                try FileManager.default.contentsOfDirectory(atPath: root.path).filter { !$0.hasPrefix(".") }.sorted()
            }
        }

        var stagedNames: [String] {
            get throws {
                try FileManager.default.contentsOfDirectory(atPath: folder.stagingFolder)
                    .filter { $0.hasPrefix(ShardFile.prefix) }
            }
        }

        /// Numbers of the items in the shards that the queue lists as complete.
        func index() async throws -> [Int64: String] {
            let rows = try await database.sql(
                "SELECT d.item_id, s.name FROM done d JOIN shard s ON s.number = d.shard WHERE s.state = 1"
            )
            return Dictionary(
                uniqueKeysWithValues: try rows.map { (try $0.int(0, as: Int64.self), try $0.text(1)) }
            )
        }

        /// Another worker of the same folder.
        func other() async throws -> ShardDestination {
            let folder = try FolderDestination(root: root.path, worker: "w2")
            let other = ShardDestination(
                folder,
                ShardSettings(.tar),
                ledger: queue,
                logger: ShardDestinationTests.logger
            )
            try await other.check()
            return other
        }
    }

    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// - Parameters:
    ///   - count: number of items.
    ///   - contents: number of different contents, which the items have in turn; `nil` if all differ.
    private func run(
        _ count: Int,
        contents: Int? = nil,
        deduplicates: Bool = false,
        _ test: (Rig) async throws -> Void
    ) async throws {
        try await TestDatabase.with { database in
            try await database.sql("UPDATE setting SET shard_format = 'tar', deduplicates = \(deduplicates)")
            try await database.ready(count)
            let queue = database.queue()
            defer { queue.close() }
            try await TemporaryFolder.with { root in
                let folder = try FolderDestination(root: root.path, worker: "w1")
                var settings = ShardSettings(.tar)
                settings.contents = deduplicates ? 1 : nil
                let destination = ShardDestination(folder, settings, ledger: queue, logger: Self.logger)
                try await destination.check()
                let worker = try await queue.register(label: "one", predecessor: nil).worker
                destination.registered(as: worker) { true }
                let leases = try await queue.claim(worker, limit: count).leases
                try #require(leases.count == count)
                let files = try leases.map { lease in
                    PreparedFile(
                        file: try StagedFiles.make(
                            lease.key.item,
                            lease.path,
                            Data("content of \(lease.key.item % Int64(contents ?? .max))".utf8),
                            in: folder.stagingFolder,
                            epoch: lease.key.epoch
                        )
                    )
                }
                try await test(
                    Rig(
                        database: database,
                        queue: queue,
                        root: root,
                        folder: folder,
                        destination: destination,
                        worker: worker,
                        files: files
                    )
                )
            }
        }
    }

    @Test func theResultsComeWithTheShard() async throws {
        try await run(3) { rig async throws in
            let outcomes = await rig.destination.publish(rig.files)
            #expect(outcomes.values.allSatisfy(\.isPublished) && outcomes.count == 3)
            #expect(try rig.names == ["shard-000001.tar"])
            #expect(try await rig.index().count == 3)
            #expect(try await rig.database.count("lease") == 0)
            #expect(try rig.stagedNames.isEmpty)
            // The report that follows is accepted and changes nothing.
            let reports = rig.files.map { Report($0.file.key, .completed(.init(bytes: 1, sha256: $0.file.sha256))) }
            #expect(try await rig.queue.report(rig.worker, reports).count == 3)
            let shards = try await QueueAdministration(rig.database.connection, .standard).shards()
            #expect(shards.map(\.items) == [3])
        }
    }

    /// - Returns: for each item in order its shard, the place of its bytes, and the item that had the content first.
    private func places(_ rig: Rig) async throws -> [String] {
        let rows = try await rig.database.sql(
            "SELECT concat_ws(' ', item_id, shard, shard_offset, duplicate_of) FROM done ORDER BY item_id"
        )
        return try rows.map { try $0.text(0) }
    }

    @Test func aContentThatSeveralItemsHaveIsWrittenOnce() async throws {
        try await run(6, contents: 2, deduplicates: true) { rig async throws in
            // The last item comes when the shard of the others is complete.
            #expect(await rig.destination.publish(Array(rig.files.dropLast())).values.allSatisfy(\.isPublished))
            #expect(await rig.destination.publish([rig.files[5]]).values.allSatisfy(\.isPublished))
            #expect(try rig.names == ["shard-000001.tar"])
            #expect(
                try await places(rig) == ["1 1 512", "2 1 2560", "3 1 512 1", "4 1 2560 2", "5 1 512 1", "6 1 2560 2"]
            )
            let shards = try await QueueAdministration(rig.database.connection, .standard).shards()
            #expect(shards.map(\.items) == [2])
            #expect(try await rig.database.count("lease") == 0)
            // A repeated call, whose first answer was lost, gets the same answer; so does the report that follows.
            let file = rig.files[5].file
            #expect(try await rig.queue.completeDuplicates(rig.worker, [file], of: 1) == [file.key])
            let report = Report(file.key, .completed(.init(bytes: file.bytes, sha256: file.sha256)))
            #expect(try await rig.queue.report(rig.worker, [report]) == [file.key])
        }
    }

    @Test func aContentIsWrittenForEachItemUnlessAskedOtherwise() async throws {
        try await run(2, contents: 1) { rig async throws in
            #expect(await rig.destination.publish(rig.files).values.allSatisfy(\.isPublished))
            #expect(try await places(rig) == ["1 1 512", "2 1 2560"])
            #expect(try await rig.database.count("content") == 0)
        }
    }

    /// Both have opened a shard before either is complete.
    @Test func theSecondOfTwoShardsWithOneContentNamesTheFirst() async throws {
        try await run(2, contents: 1, deduplicates: true) { rig async throws in
            var settings = ShardSettings(.tar)
            settings.contents = 1
            let shards = try rig.files.map { try ShardFile.build([$0.file], settings, in: rig.folder.stagingFolder) }
            var numbers: [Int64] = []
            for shard in shards { numbers.append(try await rig.queue.openShard(rig.worker, shard.summary).number) }
            for (number, shard) in zip(numbers, shards) {
                #expect(try await rig.queue.completeShard(rig.worker, number, shard.items, contents: 1))
            }
            #expect(try await places(rig) == ["1 1 512", "2 2 512 1"])
        }
    }

    @Test func aContentOfAnEarlierDestinationIsWrittenAgain() async throws {
        try await run(3, contents: 1, deduplicates: true) { rig async throws in
            #expect(await rig.destination.publish([rig.files[0]]).values.allSatisfy(\.isPublished))
            let administration = QueueAdministration(rig.database.connection, .standard)
            var settings = try await administration.settings()
            settings.destination = "/elsewhere"
            try await administration.update(settings)
            let known = try await rig.queue.destination()
            #expect(try known.text == "/elsewhere")
            let moved = ShardDestination(
                rig.folder,
                try #require(known.shards),
                ledger: rig.queue,
                logger: Self.logger
            )
            moved.registered(as: rig.worker) { true }
            #expect(await moved.publish([rig.files[1]]).values.allSatisfy(\.isPublished))
            #expect(await moved.publish([rig.files[2]]).values.allSatisfy(\.isPublished))
            #expect(try await places(rig) == ["1 1 512", "2 2 512", "3 2 512 2"])
        }
    }

    /// A lease that another worker has meanwhile is not completed as a duplicate either.
    @Test func aLostItemIsNoDuplicate() async throws {
        try await run(2, contents: 1, deduplicates: true) { rig async throws in
            #expect(await rig.destination.publish([rig.files[0]]).values.allSatisfy(\.isPublished))
            try await rig.database.sql("UPDATE lease SET epoch = epoch + 1 WHERE item_id = 2")
            let outcomes = await rig.destination.publish([rig.files[1]])
            #expect(outcomes.values.allSatisfy { $0.error?.blamesNoFile == true })
            #expect(try await places(rig) == ["1 1 512"])
            #expect(try rig.names == ["shard-000001.tar"])
        }
    }

    @Test func aShardWithALostItemDisappears() async throws {
        try await run(3) { rig async throws in
            try await rig.database.sql("UPDATE lease SET epoch = epoch + 1 WHERE item_id = 2")
            let outcomes = await rig.destination.publish(rig.files)
            #expect(outcomes.values.allSatisfy { $0.error?.blamesNoFile == true })
            #expect(try rig.names.isEmpty)
            #expect(try rig.stagedNames.isEmpty)
            #expect(try await rig.database.count("shard") == 0)
            #expect(try await rig.database.count("done") == 0)
            // The rest is complete in the next shard.
            let rest = rig.files.filter { $0.file.key.item != 2 }
            #expect(await rig.destination.publish(rest).values.allSatisfy(\.isPublished))
            #expect(try await rig.index() == [1: "shard-000002.tar", 3: "shard-000002.tar"])
        }
    }

    @Test func aFileOfAnotherProgramKeepsItsName() async throws {
        try await run(1) { rig async throws in
            try Data("mine".utf8).write(to: URL(fileURLWithPath: rig.root("shard-000001.tar")))
            #expect(await rig.destination.publish(rig.files).values.allSatisfy(\.isPublished))
            #expect(try await rig.index() == [1: "shard-000002.tar"])
            #expect(try String(contentsOfFile: rig.root("shard-000001.tar"), encoding: .utf8) == "mine")
            #expect(try await rig.database.count("shard") == 1)
        }
    }

    @Test func theShardOfADeadWorkerIsRemoved() async throws {
        try await run(2) { rig async throws in
            // The worker dies after the shard got its name.
            let shard = try ShardFile.build(rig.files.map(\.file), ShardSettings(.tar), in: rig.folder.stagingFolder)
            let (number, name) = try await rig.queue.openShard(rig.worker, shard.summary)
            let file = StagedFile(
                key: LeaseKey(item: number, epoch: 0),
                stagedPath: "\(rig.folder.stagingFolder)/\(shard.summary.fileName)",
                path: name,
                bytes: shard.summary.bytes,
                sha256: shard.summary.sha256
            )
            #expect(try await rig.folder.store(file)?.isPublished == true)
            let other = try await rig.other()
            await other.maintain()
            #expect(try rig.names == [name], "its worker lives")
            try await rig.database.expire(rig.worker)
            _ = try await rig.queue.maintain()
            await other.maintain()
            #expect(try rig.names.isEmpty)
            #expect(try rig.stagedNames.isEmpty)
            #expect(try await rig.database.count("shard") == 0)
            let again = try await rig.database.count("later") + rig.database.count("ready")
            #expect(again == 2, "its items run again")
            // The worker wakes up.
            #expect(try await !rig.queue.completeShard(rig.worker, number, shard.items, contents: nil))
            #expect(try await rig.folder.store(file)?.isPublished == false, "and cannot give the name again")
            #expect(try rig.names.isEmpty)
        }
    }

    @Test func anAbandonedShardOfOtherContentStays() async throws {
        try await run(1) { rig async throws in
            try Data("mine".utf8).write(to: URL(fileURLWithPath: rig.root("shard-000001.tar")))
            let shard = try ShardFile.build(rig.files.map(\.file), ShardSettings(.tar), in: rig.folder.stagingFolder)
            _ = try await rig.queue.openShard(rig.worker, shard.summary)
            try await rig.queue.leave(rig.worker)
            await rig.destination.maintain()
            #expect(try rig.names == ["shard-000001.tar"])
            #expect(try await rig.database.count("shard") == 0)
        }
    }

    @Test func aCompletionThatIsRepeatedIsAcceptedAgain() async throws {
        try await run(2) { rig async throws in
            let shard = try ShardFile.build(rig.files.map(\.file), ShardSettings(.tar), in: rig.folder.stagingFolder)
            let (number, _) = try await rig.queue.openShard(rig.worker, shard.summary)
            #expect(try await rig.queue.completeShard(rig.worker, number, shard.items, contents: nil))
            #expect(try await rig.queue.completeShard(rig.worker, number, shard.items, contents: nil))
            #expect(try await rig.database.count("done") == 2)
            #expect(try await !rig.queue.abandonShard(rig.worker, number))
            #expect(try await rig.queue.abandonedShards(limit: 10).isEmpty)
        }
    }

    @Test func nothingGetsANameAfterTheLeases() async throws {
        try await run(1) { rig async throws in
            rig.destination.registered(as: rig.worker) { false }
            let outcomes = await rig.destination.publish(rig.files)
            #expect(outcomes.values.allSatisfy { $0.error?.code == .cancelled })
            #expect(try rig.names.isEmpty)
            #expect(try await rig.database.count("shard") == 0)
        }
    }

    /// A packed file proves that its item is harmless.
    @Test func aLossDoesNotCountForItemsThatWaitForTheirShard() async throws {
        try await run(3) { rig async throws in
            try await rig.database.sql("UPDATE lease SET losses = 1, connections = 4, alone = (item_id = 1)")
            let packed = rig.files.map(\.file.key).filter { $0.item < 3 }
            #expect(try await rig.queue.gate(rig.worker, packed).count == 2)
            #expect(try await rig.database.count("lease WHERE connections = 0 AND NOT alone") == 2)
            _ = try await rig.queue.beat(rig.worker)
            let next = try await rig.queue.register(label: "one", predecessor: rig.worker)
            #expect(next.leases.map(\.key.item).sorted() == [1, 2])
            #expect(next.leases.allSatisfy { $0.connections == 1 })
            #expect(try await rig.database.count("lease WHERE losses = 1") == 2)
            #expect(try await rig.database.count("later WHERE alone AND item_id = 3 AND losses = 2") == 1)
            // A worker that holds nothing but packed files takes the suspect.
            try await rig.database.sql("UPDATE later SET due_at = now()")
            #expect(try await rig.queue.claim(next.worker, limit: 10).leases.isEmpty, "items 1 and 2 run again")
            #expect(try await rig.queue.gate(next.worker, next.leases.map(\.key)).count == 2)
            #expect(try await rig.queue.claim(next.worker, limit: 10).leases.map(\.key.item) == [3])
        }
    }

    @Test func aQueueIsExhaustedWhenNothingWaits() async throws {
        try await run(2) { rig async throws in
            let answer = try await rig.queue.claim(rig.worker, limit: 10)
            #expect(answer.isExhausted && !answer.isDrained)
            let retry = Report(rig.files[0].file.key, .retry(Failure("http_503", "busy"), delay: .seconds(60)))
            _ = try await rig.queue.report(rig.worker, [retry])
            #expect(try await !rig.queue.claim(rig.worker, limit: 10).isExhausted)
        }
    }
}
