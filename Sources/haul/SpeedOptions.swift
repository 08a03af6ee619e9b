import ArgumentParser
import HaulKit

struct SpeedOptions: ParsableArguments {
    @Option(
        name: [.customShort("c", allowingJoined: true), .long],
        help: "Connections per file, opened at once. Default: as many as increase the speed, up to 16."
    )
    var connections: Int?

    @Option(help: "Limit in bytes per second, for all files together: 800000, 500k, 2M, 1.5MiB.")
    var limitRate: ByteCount?

    func validate() throws {
        if let connections, !(1...256).contains(connections) {
            throw ValidationError("--connections takes a number from 1 to 256.")
        }
        if let limitRate, limitRate.bytes < 1 { throw ValidationError("--limit-rate takes a number above 0.") }
    }
}

/// The number of downloads that run at once.
struct QueueOptions: ParsableArguments {
    @Option(name: [.customShort("j", allowingJoined: true), .long], help: "Number of files to download at once.")
    var jobs: Int = 3

    func validate() throws {
        guard (1...1000).contains(jobs) else { throw ValidationError("--jobs takes a number from 1 to 1000.") }
    }
}
