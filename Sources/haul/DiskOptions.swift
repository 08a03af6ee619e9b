import ArgumentParser
import HaulKit

/// Limits on the use of the disk, and the reaction to a full disk.
struct DiskOptions: ParsableArguments {
    @Flag(help: "When the disk is full, wait until it has space instead of failing.")
    var waitForSpace = false

    @Option(help: "Bytes of each disk to leave free: 800000, 500M, 2G, 1.5GiB.")
    var reserve: ByteCount?

    func validate() throws {
        if let reserve, reserve.bytes < 0 { throw ValidationError("--reserve takes a number of at least 0.") }
    }

    func apply(to configuration: inout Downloader.Configuration) {
        configuration.storage.waitsForSpace = waitForSpace
        configuration.storage.reservedDiskSpace = reserve?.bytes ?? 0
    }
}

/// The state folder, in which the store keeps the downloads of earlier runs.
struct StateOptions: ParsableArguments {
    static let help = "Folder for the state of downloads (default: HAUL_STATE_DIR, else the XDG state folder)."

    @Option(help: ArgumentHelp(stringLiteral: StateOptions.help), completion: .directory)
    var stateDir: String?
}
