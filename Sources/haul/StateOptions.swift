import ArgumentParser

/// The folder that records the downloads of earlier runs.
struct StateOptions: ParsableArguments {
    @Option(
        help: "Folder for the state of downloads (default: HAUL_STATE_DIR, else the XDG state folder).",
        completion: .directory
    )
    var stateDir: String?
}
