/// Collects complete files until they fill a shard.
extension WorkerMachine {
    /// Maximum number of shards that wait or are being published while the worker takes further items.
    private static let mostShards = 2

    /// Whether the files that wait for their shards leave space for more.
    var mayPackMore: Bool {
        guard let bytes = settings.shardBytes else { return true }
        return shardsInWork < Self.mostShards || items.packedBytes < bytes
    }

    /// Time of the next shard; `nil` if no file waits for one, or if the lease is in doubt.
    ///
    /// A shard ends when it has its size or its age, when the queue has no other item left, and when the worker stops.
    var nextShard: Duration? {
        guard let bytes = settings.shardBytes, let since = items.packedSince, phase == .working, !lease.isInDoubt,
            shardsInWork < Self.mostShards
        else { return nil }
        let isLast = items.isAllPacked && (stop.isRequested || claims.isExhausted)
        return items.packedBytes >= bytes || isLast || stop.kind == .now ? now : since + settings.shardAge
    }

    mutating func sendShards() {
        while let time = nextShard, now >= time, mayPublish(at: now) {
            let files = items.takePacked(settings.shardBytes ?? .max)
            shardsInWork += 1
            request(.publish(files))
        }
    }
}
