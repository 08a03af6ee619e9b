import ArgumentParser
import HaulServer
import NIOHTTP1

struct Open: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints a link that opens the page of the daemon and signs it in, once and within ten minutes."
    )

    @OptionGroup var daemon: DaemonOptions
    @Flag(name: .customLong("extension"), help: "Print a link that connects the browser extension instead.")
    var connectsExtension = false

    private struct Answer: Decodable {
        var link: String?
    }

    func run() async throws {
        try await daemon.run { client in
            let path = connectsExtension ? "/api/v1/keys/codes" : "/api/v1/session/codes"
            let answer: Answer = try await client.value(.POST, path, [:])
            guard let link = answer.link else { throw Complaint("The daemon serves no page.", .otherFailure) }
            Output.result(link)
        }
    }
}
