import ArgumentParser
import HaulKit

/// What a download may take of the disk, and what it does when there is no room.
struct DiskOptions: ParsableArguments {
    @Flag(help: "When the disk is full, wait until there is room, in place of failing.")
    var waitForSpace = false

    @Option(help: "Leave so much of the disk free: 800000, 500M, 2G, 1.5GiB.")
    var reserve: ByteCount?

    func validate() throws {
        if let reserve, reserve.bytes < 0 { throw ValidationError("--reserve takes a number from 0 on.") }
    }

    func apply(to configuration: inout Configuration) {
        configuration.waitsForSpace = waitForSpace
        configuration.reservedDiskSpace = reserve?.bytes ?? 0
    }
}
