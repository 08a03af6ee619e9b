import ArgumentParser
import HaulServer
import NIOHTTP1

struct Open: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints a link that opens the page of the daemon and signs it in, once and within ten minutes."
    )

    @OptionGroup var daemon: DaemonOptions

    private struct Answer: Decodable {
        var link: String
    }

    func run() async throws {
        try await daemon.run { client in
            let answer: Answer = try await client.value(.POST, "/api/v1/session/codes", [:])
            Output.result(answer.link)
        }
    }
}
