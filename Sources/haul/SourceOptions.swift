import ArgumentParser

/// The sources of URLs for `haul get`, besides its arguments.
struct SourceOptions: ParsableArguments {
    @Option(
        name: [.short, .long],
        help: "Read URLs from a file, one per line, mirrors after tabs. '-': standard input. '#' starts a comment.",
        completion: .file()
    )
    var inputFile: String?

    @Option(
        help: "Download the files that a Metalink describes; file or URL of the Metalink. Repeatable.",
        completion: .file()
    )
    var metalink: [String] = []

    @Option(
        help: """
            Run this program for a URL when a URL is refused or about to expire, and for each haul-source:KEY. It is \
            run without a shell and without arguments.
            """,
        completion: .file()
    )
    var refreshCommand: String?
}
