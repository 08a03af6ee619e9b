internal import Foundation
internal import HaulKit

/// A queue of a database: where commands begin.
package struct Fleet: Sendable {
    package let database: DatabaseSettings
    package let queue: QueueName

    package init(_ database: DatabaseSettings, _ queue: QueueName) { (self.database, self.queue) = (database, queue) }

    /// Makes a worker of this process, which runs with ``FleetWorker/run()``.
    ///
    /// - Parameters:
    ///   - destination: in place of the queue's.
    ///   - s3: settings of the store before those of the queue and the environment.
    ///   - onWait: called once where the database cannot be reached and is waited for.
    /// - Throws: ``FleetError`` where the database refuses, or the destination cannot be used.
    package func worker(
        _ options: WorkerOptions,
        folder: WorkFolder,
        destination: String?,
        s3: S3Overrides,
        onWait: (FleetError) -> Void = { _ in }
    ) async throws(FleetError) -> (worker: FleetWorker, close: @Sendable () -> Void) {
        let postgres = PostgresQueue(database, name: queue)
        do throws(FleetError) {
            let text: String
            if let destination {
                text = destination
            } else {
                text = try await postgres.destinationWhenReachable(onWait: onWait)
            }
            let worker = try await FleetWorker(
                options,
                folder: folder,
                queue: postgres,
                queueName: "\(database) \(queue)",
                destination: try await makeDestination(
                    text,
                    s3,
                    folder,
                    postgres,
                    options.configuration
                )
            )
            return (worker, { postgres.close() })
        } catch {
            postgres.close()
            throw error
        }
    }

    private func makeDestination(
        _ text: String,
        _ s3: S3Overrides,
        _ folder: WorkFolder,
        _ queue: PostgresQueue,
        _ configuration: Downloader.Configuration
    ) async throws(FleetError) -> any DestinationWriting {
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
        // Each has a file open too.
        settings.connections = min(settings.connections, max(1, configuration.network.otherDescriptors / 4))
        return try S3Destination(
            settings,
            stagingFolder: staging,
            credentials: S3CredentialCache(environment: environment),
            logger: configuration.telemetry.logger
        )
    }

    /// Opens a connection of a command, for the duration of `body`.
    package func withConnection<Value>(
        _ body: (DatabaseConnection) async throws -> Value
    ) async throws -> Value {
        let connection = DatabaseConnection(database)
        defer { connection.close() }
        return try await body(connection)
    }
}

extension PostgresQueue {
    /// Waits for a database that is away: a worker that is started while it restarts is not to end.
    ///
    /// - Parameter onWait: called once, with the first failure.
    func destinationWhenReachable(onWait: (FleetError) -> Void) async throws(FleetError) -> String {
        var delay = Duration.milliseconds(250)
        while true {
            do throws(FleetError) { return try await destination() } catch {
                guard error.code == .databaseUnreachable else { throw error }
                if delay == .milliseconds(250) { onWait(error) }
                delay = min(delay * 2, .seconds(10))
                do { try await Task.sleep(for: delay * Double.random(in: 0.5...1)) } catch {
                    throw FleetError(.cancelled, "The wait was cancelled.")
                }
            }
        }
    }

    /// - Throws: ``FleetError/Code/destinationRefused`` where a folder is not the one that the queue's files went to so far.
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

    /// Where files go, as ``DestinationText`` writes it.
    func destination() async throws(FleetError) -> String {
        guard let text = try await work.run(function("destination()")).first?.optionalText(0) else {
            throw FleetError(.databaseRefused, "The queue has no destination: run haul-fleet init --to DESTINATION.")
        }
        return text
    }
}
