import ArgumentParser
import Foundation
import HaulKit

struct RepairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract: "Compares a file with the digests of its pieces and fetches only the wrong pieces.",
        discussion: """
            The digests come from a Metalink, by default from the Metalink that the file was downloaded with. The file \
            stays as it is: pieces are fetched into a copy, NAME.haulpart, which replaces it when all of it is right. \
            Run the same command again to resume an interrupted repair.
            """
    )

    @Argument(help: "The file to repair.", completion: .file())
    var file: String

    @Option(help: "Metalink with the digests; file or URL.", completion: .file())
    var metalink: String?

    @Option(help: "URL to fetch from first, in place of the URL of the Metalink or of the download.")
    var url: String?

    @OptionGroup var network: NetworkOptions

    @Flag(name: [.short, .long], help: "Print only errors.")
    var quiet = false

    func run() async throws {
        let style: CommandSession.Style = quiet ? .quiet : .terminal(isVerbose: false)
        // Reads the Metalink with the configuration, before the store is opened. A signal then still ends the process
        // at once if the file is a pipe that blocks.
        var document: MetalinkOption?
        try await CommandSession.run(configuration { document = try metalink.map(MetalinkOption.init) }, style, .repair)
        {
            session in
            let request = try await request(document, session)
            switch try await session.downloader.repair(
                file,
                from: request,
                url: url.map(GetOptions.url),
                headers: network.headers.isEmpty || (request != nil && url == nil) ? nil : network.headers,
                allowsInsecureRedirects: network.connection.allowInsecureRedirects ? true : nil
            ) {
            case .nothingToDo(let bytes):
                if !quiet { Output.note("\(file): every piece is right (\(Format.bytes(bytes))).") }
                return .complete
            case .fetching(let download, let wrongBytes):
                let finding =
                    wrongBytes > 0
                    ? "\(Format.bytes(wrongBytes)) wrong or missing."
                    : "every piece is right. The bytes behind the end of the file are removed."
                if !quiet { Output.note("\(file): \(finding)") }
                let status = await GetRun(session.downloader, session.display).finish(download)
                await removeUseless(download, wrongBytes, status, session.downloader)
                return status
            }
        }
    }

    /// Removes the copy that a repair has made, if the repair failed without a new byte.
    private func removeUseless(
        _ download: Download,
        _ wrongBytes: Int64,
        _ status: ExitStatus,
        _ downloader: Downloader
    ) async {
        let snapshot = download.snapshot
        guard status != .complete, status != .interrupted, let total = snapshot.totalBytes, wrongBytes < total,
            snapshot.receivedBytes <= total - wrongBytes
        else { return }
        // Ignores errors, because the copy is useless, and the failure of the repair was already printed.
        try? await downloader.remove(download.id)
    }

    private func configuration(_ readMetalink: () throws -> Void) throws -> Downloader.Configuration {
        try readMetalink()
        return try network.configuration()
    }

    private func request(_ metalink: MetalinkOption?, _ session: CommandSession) async throws -> DownloadRequest? {
        guard let metalink else { return nil }
        let files = try await metalink.load(session, network).files
        let name = URL(fileURLWithPath: try FilePaths.absolute(file)).lastPathComponent
        let described =
            files.count == 1 ? files.first : files.first { $0.name.split(separator: "/").last ?? "" == name }
        guard let described else {
            throw Complaint("The Metalink describes \(files.count) files, and none of them is called \(name).", .usage)
        }
        var request = DownloadRequest(described, into: ".")
        network.apply(to: &request, from: metalink)
        return request
    }
}
