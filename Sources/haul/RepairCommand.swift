import ArgumentParser
import Foundation
import HaulKit

struct RepairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract: "Checks a file piece by piece and fetches only what is wrong.",
        discussion: """
            What the pieces must be comes from a Metalink, or from the one that the file was downloaded by. While pieces \
            are fetched the file is called NAME.haulpart; the same command again goes on after an interruption.
            """
    )

    @Argument(help: "The file.", completion: .file())
    var file: String

    @Option(help: "The Metalink that describes the file: a file or a URL.", completion: .file())
    var metalink: String?

    @Option(help: "Fetch from this URL instead.")
    var url: String?

    @OptionGroup var network: NetworkOptions

    @Flag(name: [.short, .long], help: "Print nothing but errors.")
    var quiet = false

    func run() async throws {
        try await Session.run(network.configuration(), quiet ? .quiet : .terminal(isVerbose: false)) { session in
            let request = try await request(session)
            switch try await session.downloader.repair(
                file,
                from: request,
                url: url.map(GetOptions.url),
                headers: network.header.isEmpty || (request != nil && url == nil) ? nil : network.header
            ) {
            case .nothingToDo(let bytes):
                if !quiet { Output.note("\(file): every piece is right (\(Format.bytes(bytes))).") }
                return .complete
            case .fetching(let download, let wrongBytes):
                if !quiet { Output.note("\(file): \(Format.bytes(wrongBytes)) wrong or missing.") }
                return await GetRun(session.downloader, session.display).finish(download)
            }
        }
    }

    private func request(_ session: Session) async throws -> DownloadRequest? {
        guard let metalink else { return nil }
        let files = try await MetalinkOption(metalink).load(session, network).files
        let name = URL(fileURLWithPath: file).lastPathComponent
        let described =
            files.count == 1 ? files.first : files.first { $0.name.split(separator: "/").last ?? "" == name }
        guard let described else {
            throw Complaint("The Metalink describes \(files.count) files, and none of them is called \(name).", .usage)
        }
        var request = DownloadRequest(described, into: ".")
        network.apply(to: &request, from: MetalinkOption(metalink))
        return request
    }
}
