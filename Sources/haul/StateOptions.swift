import ArgumentParser

/// The folder that records the downloads of earlier runs.
struct StateOptions: ParsableArguments {
    static let help = "Folder for the state of downloads (default: HAUL_STATE_DIR, else the XDG state folder)."

    @Option(help: ArgumentHelp(stringLiteral: StateOptions.help), completion: .directory)
    var stateDir: String?
}
