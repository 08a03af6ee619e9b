import Testing

@testable import HaulFleet

/// When a worker ends a shard.
@Suite struct ShardMachineTests {
    private static func second(_ seconds: Double) -> Duration { .milliseconds(Int64(seconds * 1000)) }

    /// A worker that registered at 1 s and has packed the files of its first claim.
    private struct Rig {
        var machine: WorkerMachine
        let leases: [LeasedItem]
        let files: [PreparedFile]
        var actions: [WorkerAction] = []

        /// - Parameter packed: number of files that are complete; the other items are being downloaded.
        init(_ sizes: [Int64], packed: Int? = nil, age: Double = 600) {
            machine = WorkerMachine(settings: .init(shardBytes: 100, shardAge: second(age)), seed: 7)
            let all = sizes.enumerated().map { index, bytes in
                (
                    lease: LeasedItem(key: LeaseKey(item: Int64(index + 1), epoch: 1), url: "http://h/", path: "p"),
                    bytes: bytes
                )
            }
            leases = all.map(\.lease)
            files = all.prefix(packed ?? sizes.count).map { lease, bytes in
                PreparedFile(
                    file: StagedFile(
                        key: lease.key,
                        stagedPath: "s",
                        path: "p",
                        bytes: bytes,
                        sha256: Array(repeating: 0, count: 32)
                    )
                )
            }
            _ = machine.start(at: second(1))
            _ = machine.handle(.registered(.init(worker: 5, leaseTime: second(6000)), sentAt: second(1)), at: second(1))
            _ = machine.handle(.claimed(Claim(leases: leases), sentAt: second(1)), at: second(1))
            for file in files { _ = machine.handle(.downloadEnded(file.file.key, .staged(file.file)), at: second(2)) }
            for file in files {
                actions += machine.handle(.prepared(file.file.key, .success(file)), at: second(2))
            }
            actions += machine.handle(.timer, at: second(3))
            for case .call(.gate(let keys)) in actions {
                actions += machine.handle(.gated(keys, held: Set(keys)), at: second(3))
            }
            actions += machine.handle(.timer, at: second(4))
            for case .call(.gate(let keys)) in actions where machine.items[keys[0]]?.stage.isPrepared == true {
                actions += machine.handle(.gated(keys, held: Set(keys)), at: second(4))
            }
        }

        var published: [[Int64]] {
            actions.compactMap { if case .publish(let files) = $0 { files.map(\.file.key.item) } else { nil } }
        }
    }

    @Test func filesWaitUntilTheyFillAShard() {
        var rig = Rig([40, 40])
        #expect(rig.published.isEmpty)
        #expect(rig.machine.heldCount == 2)
        #expect(rig.machine.items.activeCount == 0, "they take no place from other items")
        rig = Rig([40, 40, 40])
        #expect(rig.published == [[1, 2, 3]])
    }

    @Test func aShardEndsWithItsAge() {
        var rig = Rig([40], packed: 1)
        #expect(rig.machine.nextShard == rig.machine.items.packedSince.map { $0 + Self.second(600) })
        rig.actions += rig.machine.handle(.timer, at: Self.second(605))
        #expect(rig.published == [[1]])
    }

    @Test func theLastShardEndsWhenTheQueueHasNothingElse() {
        var rig = Rig([40, 40], packed: 1)
        let empty = Claim(isExhausted: true)
        _ = rig.machine.handle(.timer, at: Self.second(10))
        rig.actions += rig.machine.handle(.claimed(empty, sentAt: Self.second(10)), at: Self.second(10))
        #expect(rig.published.isEmpty, "another item is still being downloaded")
        let failure = Failure("http_404", "gone")
        rig.actions += rig.machine.handle(
            .downloadEnded(rig.leases[1].key, .failed(failure, isRetryable: false, retryAfter: nil)),
            at: Self.second(11)
        )
        let report = Report(rig.leases[1].key, .failed(failure))
        rig.actions += rig.machine.handle(.timer, at: Self.second(12))
        rig.actions += rig.machine.handle(.reported([report], accepted: [report.key]), at: Self.second(12))
        rig.actions += rig.machine.handle(.timer, at: Self.second(20))
        rig.actions += rig.machine.handle(.claimed(empty, sentAt: Self.second(20)), at: Self.second(20))
        #expect(rig.published == [[1]])
    }

    @Test func aWorkerThatStopsPublishesItsFiles() {
        var rig = Rig([40, 40], packed: 1)
        rig.actions += rig.machine.handle(.stopRequested, at: Self.second(10))
        #expect(rig.published == [[1]])
        #expect(rig.actions.contains(.suspend(rig.leases[1].key)), "what is not complete goes back")
    }

    @Test func aWorkerWithTwoShardsInWorkTakesNothingMore() {
        let rig = Rig([100, 100, 100])
        #expect(rig.published == [[1], [2]])
        #expect(rig.machine.nextShard == nil)
        #expect(rig.machine.nextClaim == nil)
    }

    @Test func packedFilesOfAForgottenWorkerAreDropped() {
        var rig = Rig([40], age: 10_000)
        let unknown = FleetError(.workerUnknown, "dead")
        rig.actions += rig.machine.handle(.timer, at: Self.second(2000))
        rig.actions += rig.machine.handle(.callFailed(.beat, unknown), at: Self.second(2000))
        #expect(rig.machine.heldCount == 0 && rig.machine.items.packedBytes == 0)
        #expect(rig.machine.items.packedSince == nil && rig.machine.items.activeCount == 0)
        #expect(rig.actions.contains(.discard(rig.leases[0].key, keepsBytes: true)))
    }
}
