import ArgumentParser
import Foundation
import HaulKit
import HaulServer

struct Watch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows the downloads of the daemon as they run.",
        discussion: """
            Keys: arrows choose a download, space pauses or resumes it, p pauses, r resumes or tries again, d removes, q \
            quits. The daemon goes on when the view is closed. Where there is no terminal, a line is printed for each change \
            of a state.
            """
    )

    @Flag(help: "Print each change of a download on standard output, one JSON object per line.")
    var json = false

    @OptionGroup var daemon: DaemonOptions

    func run() async throws {
        try await daemon.run { client in
            let status = try await WatchRun(client, only: nil, isJSON: json, isQuiet: false).run()
            if status != .complete { throw status.code }
        }
    }
}
