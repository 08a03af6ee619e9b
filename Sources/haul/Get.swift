import ArgumentParser
import CHaulSystem
import Foundation
import HaulKit

struct Get: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Downloads now, in this process. The same command again goes on.",
        discussion: """
            Names come from the server or the URL, made safe; a name that is taken gets a number: 'name (1).ext'. \
            A URL whose file is complete at that place and unchanged is not fetched again.

            When standard output is no terminal it gets the path of each complete file, a line each.
            """
    )

    @Argument(help: "What to download: http or https.")
    var urls: [String] = []

    @Option(
        name: [.short, .long],
        help: "Read URLs from a file, one a line; '-' is standard input. '#' begins a comment.",
        completion: .file()
    )
    var inputFile: String?

    @Option(name: [.short, .long], help: "Files at once.")
    var jobs: Int = 3

    @OptionGroup var options: GetOptions

    @Flag(name: [.short, .long], help: "Print nothing but errors.")
    var quiet = false

    @Flag(help: "Print events on standard output, one JSON object a line.")
    var json = false

    func validate() throws {
        if urls.isEmpty, inputFile == nil { throw ValidationError("Name a URL, or a file of URLs with --input-file.") }
        guard (1...1000).contains(jobs) else { throw ValidationError("--jobs takes a number from 1 to 1000.") }
    }

    func run() async throws {
        haul_keep_freed_memory()
        do {
            let texts = try urls + (inputFile.map(Self.read) ?? [])
            guard texts.count <= 1 || (options.output == nil && options.checksum == nil) else {
                throw ValidationError("--output and --checksum are for a single URL.")
            }
            var configuration = try options.configuration()
            configuration.activeDownloads = jobs
            let requests = try texts.map(options.request)
            let status = try await download(requests, configuration)
            if status != .complete { throw status.code }
        } catch let error as DownloadError {
            Output.error("\(error)")
            throw ExitStatus(error).code
        } catch let complaint as Complaint {
            Output.error(complaint.sentence)
            throw complaint.status.code
        }
    }

    private func download(_ requests: [DownloadRequest], _ configuration: Configuration) async throws(DownloadError)
        -> ExitStatus
    {
        let downloader = try await Downloader(configuration)
        if let damaged = downloader.damagedStore {
            Output.error("The store was damaged and is now \(damaged). Downloads begun before are not known any more.")
        }
        let display: any Display =
            if json { JSONDisplay() } else if quiet { QuietDisplay() } else if Terminal.isInteractive {
                TerminalDisplay()
            } else { PlainDisplay() }
        // Writing beyond `ulimit -f` shall be an error with a sentence, not the end of the process.
        signal(SIGXFSZ, SIG_IGN)
        let interruption = Interruption { await downloader.shutDown() }
        let run = GetRun(downloader, display)
        let status = await run.finish(requests)
        await downloader.shutDown()
        guard interruption.hasHappened else { return status }
        if status == .interrupted {
            Output.error("Interrupted. What arrived is kept: the same command goes on from there.")
        }
        return status
    }

    /// Lines of a file or of standard input, without comments and empty ones.
    private static func read(_ path: String) throws -> [String] {
        let data: Data
        if path == "-" {
            data = FileHandle.standardInput.readDataToEndOfFile()
        } else {
            guard let contents = FileManager.default.contents(atPath: path) else {
                throw Complaint("\(path) cannot be read.", .usage)
            }
            data = contents
        }
        // Bytes, not characters: a list may have a hundred thousand lines.
        let (newline, returned, space, tab) = (
            UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: " "), UInt8(ascii: "\t")
        )
        return Array(data).split { $0 == newline || $0 == returned }.compactMap { line in
            let front = line.drop { $0 == space || $0 == tab }
            guard let first = front.first, first != UInt8(ascii: "#"),
                let last = front.lastIndex(where: { $0 != space && $0 != tab })
            else { return nil }
            return String(decoding: front[...last], as: UTF8.self)
        }
    }
}
