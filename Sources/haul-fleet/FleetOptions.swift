import ArgumentParser
import Foundation
import HaulFleet

/// Options that select a queue of a database.
struct FleetOptions: ParsableArguments {
    @Option(help: "URL of the database, or key=value pairs. Default: HAUL_FLEET_DATABASE, else libpq's variables.")
    var database: String?

    @Option(help: "Name of the queue: a schema of the database.")
    var queue = "haul"

    func fleet() throws -> Fleet {
        let text = database ?? ProcessInfo.processInfo.environment["HAUL_FLEET_DATABASE"] ?? ""
        return Fleet(try DatabaseSettings(text), try QueueName(queue))
    }
}

/// Options for an S3-compatible store.
struct S3Options: ParsableArguments {
    @Option(help: "URL of a store that is not Amazon's.")
    var endpoint: String?

    @Option(help: "Region of the bucket.")
    var region: String?

    @Option(help: "Whether the bucket is in the host name or in the path: automatic, path or virtual-host.")
    var addressing: S3Settings.Addressing?

    @Option(help: "Least size of a part in MiB: 5 to 5120.")
    var partSize: Int?

    func validate() throws {
        if let partSize, !(5...5120).contains(partSize) {
            throw ValidationError("--part-size is a number from 5 to 5120.")
        }
    }

    var overrides: S3Overrides {
        var overrides = S3Overrides()
        (overrides.endpoint, overrides.region, overrides.addressing) = (endpoint, region, addressing)
        overrides.partSize = partSize.map { Int64($0) << 20 }
        return overrides
    }
}

extension S3Settings.Addressing: ExpressibleByArgument {}

extension FleetOptions {
    func administer(_ body: (QueueAdministration) async throws -> Void) async throws {
        let fleet = try fleet()
        try await fleet.withConnection { connection in
            try await body(QueueAdministration(connection, fleet.queue))
        }
    }
}
