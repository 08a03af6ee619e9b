import ArgumentParser
import Foundation
import HaulFleet
import HaulKit

struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Make a queue, bring one up to date, or change its settings.",
        discussion: "What is not named stays as it is."
    )

    @OptionGroup var queue: FleetOptions

    @Option(help: "Where files go: a folder, which is made, or s3://BUCKET/PREFIX.")
    var to: String?

    @Flag(help: "Make the bucket, unless it is there.")
    var makeBucket = false

    @OptionGroup(title: "S3") var s3: S3Options

    @Option(
        help: "Seconds that leases hold after a worker was last heard of. Default: \(QueueSettings().leaseSeconds)."
    )
    var leaseTime: Int32?

    @Option(help: "Attempts of an item. Default: \(QueueSettings().maxAttempts).")
    var maxAttempts: Int16?

    @Option(
        help: """
            Number of lost workers at which an item may fail. One fewer makes it a suspect, which is tried alone. \
            Default: \(QueueSettings().maxLostWorkers).
            """
    )
    var maxLostWorkers: Int16?

    @Option(help: "Of hosts that are added later: least time between requests, in milliseconds.")
    var hostGap: Int32?

    @Option(
        help: "Of hosts that are added later: largest number of connections of all workers together; 0 for no limit."
    )
    var hostConnections: Int32?

    @Option(
        help: """
            Write files into shards of this format: tar, warc, or none for a file of its own each. Holds for workers that \
            start later.
            """
    )
    var shards: ShardChoice?

    @Option(help: "Size that ends a shard, such as 256M or 1G. Default: 256M.")
    var shardSize: ByteCount?

    @Flag(
        inversion: .prefixedNo,
        help: """
            With --shards: write a content that several items have once. The results of the others name the first item. \
            Holds for workers that start later.
            """
    )
    var deduplicate: Bool?

    @Option(help: "Let this role of the database work.")
    var workerRole: [String] = []

    @Option(help: "Let this role add items.")
    var loaderRole: [String] = []

    @Option(help: "Let this role read status, lists and results.")
    var readerRole: [String] = []

    func validate() throws {
        let range = QueueSettings.leaseSecondsRange
        if let leaseTime, !range.contains(leaseTime) {
            throw ValidationError(
                "--lease-time is a number of seconds from \(range.lowerBound) to \(range.upperBound)."
            )
        }
        if let maxAttempts, maxAttempts < 1 { throw ValidationError("--max-attempts is at least 1.") }
        if let maxLostWorkers, maxLostWorkers < 1 { throw ValidationError("--max-lost-workers is at least 1.") }
        if let hostGap, hostGap < 0 { throw ValidationError("--host-gap is at least 0.") }
        if let shardSize, !ShardSettings.bytesRange.contains(shardSize.bytes) {
            throw ValidationError("--shard-size is a size from 1k to 1024G.")
        }
        if let hostConnections, hostConnections < 0 { throw ValidationError("--host-connections is at least 0.") }
    }

    func run() async throws {
        let fleet = try queue.fleet()
        let files = FileManager.default
        let destination = try to.map { text in
            try DestinationText.make(text, s3.overrides, currentFolder: try FilePaths.currentFolder(for: text))
        }
        if let destination, destination.hasPrefix("/") {
            do { try files.createDirectory(atPath: destination, withIntermediateDirectories: true) } catch {
                throw FleetError(.disk, "The folder \(destination) cannot be made: \(FileReason.text(error)).")
            }
        }
        try await fleet.withConnection { connection in
            let schema = SchemaInstaller(connection, fleet.queue)
            let isNew = try await schema.install()
            let administration = QueueAdministration(connection, fleet.queue)
            var settings = try await administration.settings()
            let earlier = settings.destination
            if let destination { settings.destination = destination }
            if let leaseTime { settings.leaseSeconds = leaseTime }
            if let maxAttempts { settings.maxAttempts = maxAttempts }
            if let maxLostWorkers { settings.maxLostWorkers = maxLostWorkers }
            if let hostGap { settings.defaultGapMilliseconds = hostGap }
            if let hostConnections { settings.defaultMaxConnections = hostConnections == 0 ? nil : hostConnections }
            if let shards { settings.shardFormat = shards.format }
            if let shardSize { settings.shardBytes = shardSize.bytes }
            if let deduplicate { settings.deduplicates = deduplicate }
            if settings.shardFormat == nil {
                guard deduplicate != true else {
                    throw ValidationError("--deduplicate goes with --shards: other files have a path each.")
                }
                settings.deduplicates = false
            }
            if makeBucket { try await fleet.makeBucket(of: settings.destination ?? "", s3.overrides) }
            try await administration.update(settings)
            for role in workerRole { try await schema.grant(.worker, to: role) }
            for role in loaderRole { try await schema.grant(.loader, to: role) }
            for role in readerRole { try await schema.grant(.reader, to: role) }
            FleetOutput.line(
                "The queue \(fleet.queue) is \(isNew ? "made" : "up to date"): \(settings.destination ?? "no destination yet")."
            )
            if let earlier, earlier != settings.destination {
                FleetOutput.line("Workers that run now keep the destination \(earlier) until they are started again.")
            }
        }
    }
}

/// The format of shards, or none.
enum ShardChoice: String, CaseIterable, ExpressibleByArgument {
    case tar, warc, none

    var format: ShardSettings.Format? { ShardSettings.Format(rawValue: rawValue) }
}
