import ArgumentParser

/// Where the downloads of earlier runs are recorded.
struct StateOptions: ParsableArguments {
    @Option(
        help: "Folder for the state of downloads (default: HAUL_STATE_DIR, else the XDG state folder).",
        completion: .directory
    )
    var stateDir: String?
}
