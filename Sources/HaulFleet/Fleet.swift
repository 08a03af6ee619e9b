internal import Foundation
internal import HaulKit
internal import Logging

/// A queue in a database. Commands make their workers and connections from this type.
package struct Fleet: Sendable {
    package let database: DatabaseSettings
    package let queue: QueueName

    package init(_ database: DatabaseSettings, _ queue: QueueName) { (self.database, self.queue) = (database, queue) }

    /// Returns a worker that runs in this process. ``FleetWorker/run()`` starts the worker.
    ///
    /// - Parameters:
    ///   - destination: used instead of the destination of the queue; `nil` to use that of the queue.
    ///   - s3: overrides the S3 settings of the queue and the environment.
    ///   - onWait: called once if the database is unreachable and this method waits for it.
    /// - Returns: the worker, and a function that closes its connections to the queue.
    /// - Throws: ``FleetError`` if the database refuses or the destination cannot be used.
    package func worker(
        _ options: WorkerOptions,
        folder: WorkFolder,
        destination: String?,
        s3: S3Overrides,
        onWait: (FleetError) -> Void = { _ in }
    ) async throws(FleetError) -> (worker: FleetWorker, close: @Sendable () -> Void) {
        let postgres = PostgresQueue(database, name: queue)
        do throws(FleetError) {
            var settings = try await postgres.destinationWhenReachable(onWait: onWait)
            if let destination { settings.replace(with: destination) }
            let worker = try await FleetWorker(
                options,
                folder: folder,
                queue: postgres,
                queueName: "\(database) \(queue)",
                destination: try await makeDestination(
                    settings,
                    s3,
                    folder,
                    postgres,
                    options.configuration
                ),
                shards: settings.shards
            )
            return (worker, { postgres.close() })
        } catch {
            postgres.close()
            throw error
        }
    }

    /// Makes the bucket of a destination, unless the credentials of the environment own it already.
    ///
    /// - Parameter destination: in the form that ``DestinationText`` writes.
    /// - Throws: ``FleetError/Code/invalidInput`` for a destination that is no bucket, and the errors of the store.
    package func makeBucket(of destination: String, _ s3: S3Overrides) async throws(FleetError) {
        guard S3Object.hasScheme(destination) else {
            throw FleetError(.invalidInput, "The destination \(destination) is no bucket.")
        }
        let environment = ProcessInfo.processInfo.environment
        let client = try S3Client(
            try DestinationText.s3(destination, s3, environment: environment),
            credentials: S3CredentialCache(environment: environment),
            logger: Logger(label: "haul-fleet") { _ in SwiftLogNoOpLogHandler() }
        )
        do throws(S3Failure) { try await client.makeBucket() } catch { throw error.error }
    }

    private func makeDestination(
        _ settings: DestinationSettings,
        _ s3: S3Overrides,
        _ folder: WorkFolder,
        _ queue: PostgresQueue,
        _ configuration: Downloader.Configuration
    ) async throws(FleetError) -> any DestinationWriting {
        let store = try await makeStore(try settings.text, s3, folder, queue, configuration)
        guard let shards = settings.shards else { return store }
        return ShardDestination(store, shards, ledger: queue, logger: configuration.telemetry.logger)
    }

    private func makeStore(
        _ text: String,
        _ s3: S3Overrides,
        _ folder: WorkFolder,
        _ queue: PostgresQueue,
        _ configuration: Downloader.Configuration
    ) async throws(FleetError) -> any ShardStore {
        guard text.hasPrefix("s3://") else {
            try await queue.checkMark(of: text)
            return try FolderDestination(root: text, worker: "worker-\(folder.id)")
        }
        let environment = ProcessInfo.processInfo.environment
        let staging = folder.path + "/files"
        do { try FileManager.default.createDirectory(atPath: staging, withIntermediateDirectories: true) } catch {
            throw FleetError(.disk, "The folder \(staging) cannot be made: \(FileReason.text(error)).")
        }
        var settings = try DestinationText.s3(text, s3, environment: environment)
        if let file = configuration.network.certificateAuthorities { settings.certificateAuthorities = file }
        // Limits the S3 connections to a quarter of the descriptors outside the downloader, because each connection
        // also has a staged file open and the database needs some, too.
        settings.connections = min(settings.connections, max(1, configuration.network.otherDescriptors / 4))
        return try S3Destination(
            settings,
            stagingFolder: staging,
            credentials: S3CredentialCache(environment: environment),
            logger: configuration.telemetry.logger
        )
    }

    /// Passes a new connection to `body` and closes the connection afterwards.
    ///
    /// - Throws: ``FleetError/Code/databaseRefused`` if a newer program made the queue, and the errors of `body`.
    package func withConnection<Value>(
        _ body: (DatabaseConnection) async throws -> Value
    ) async throws -> Value {
        let connection = DatabaseConnection(database)
        defer { connection.close() }
        try await SchemaInstaller(connection, queue).checkVersion()
        return try await body(connection)
    }
}

extension PostgresQueue {
    /// Checks that the folder `root` has the mark that the queue keeps. The first check makes the mark.
    ///
    /// - Throws: ``FleetError/Code/destinationRefused`` if `root` is not the folder that received the queue's files so
    ///   far.
    func checkMark(of root: String) async throws(FleetError) {
        let known = try await mark(proposing: nil)
        try await DestinationMark.check(root, known: known) { name throws(FleetError) in
            guard let kept = try await mark(proposing: name) else {
                throw FleetError(.statementFailed, "The queue does not keep the mark of its destination.")
            }
            return kept
        }
    }

    private func mark(proposing name: String?) async throws(FleetError) -> String? {
        try await work.run(function("destination_mark($1)"), [.text(name)]).first?.optionalText(0)
    }
}
