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

    @Argument(help: "What to download: http or https; haul-source:KEY with --refresh-command.")
    var urls: [String] = []

    @Option(
        name: [.short, .long],
        help: "Read URLs from a file, one a line, mirrors behind tabs; '-' is standard input. '#' begins a comment.",
        completion: .file()
    )
    var inputFile: String?

    @Option(
        help: "Download the files that a Metalink describes: a file, or a URL that it is fetched from. Repeatable.",
        completion: .file()
    )
    var metalink: [String] = []

    @Option(name: [.customShort("j", allowingJoined: true), .long], help: "Files at once.")
    var jobs: Int = 3

    @Option(
        help: """
            Ask this program for a URL when a link is refused or about to expire, and for each haul-source:KEY. No shell reads it, \
            and it gets no arguments.
            """,
        completion: .file()
    )
    var refreshCommand: String?

    @OptionGroup var options: GetOptions

    @OptionGroup var network: NetworkOptions

    @OptionGroup var cookies: CookieOptions

    @OptionGroup var disk: DiskOptions

    @OptionGroup var hooks: HookOptions

    @Flag(name: [.short, .long], help: "Print nothing but errors.")
    var quiet = false

    @Flag(name: [.short, .long], help: "Show which parts of each file are here, and every connection.")
    var verbose = false

    @Flag(help: "Print events on standard output, one JSON object a line.")
    var json = false

    func validate() throws {
        if urls.isEmpty, inputFile == nil, metalink.isEmpty {
            throw ValidationError("Name a URL, a file of URLs with --input-file, or a Metalink with --metalink.")
        }
        guard (1...1000).contains(jobs) else { throw ValidationError("--jobs takes a number from 1 to 1000.") }
    }

    func run() async throws {
        haul_keep_freed_memory()
        try await Session.run(configuration(), json ? .json : quiet ? .quiet : .terminal(isVerbose: verbose)) {
            session in
            let hooks = try hooks.hooks()
            let requests = try await requests(session)
            // Only now: a Metalink that was fetched is none of the downloads that were asked for.
            await session.downloader.setHooks(hooks)
            let status = await GetRun(session.downloader, session.display).finish(requests)
            if await !session.downloader.settleHooks(within: .seconds(2)) {
                session.display.noted("Waiting for hooks. Ctrl-C gives them ten seconds more.")
                await session.downloader.settleHooks(within: .seconds(30 * 86_400))
            }
            try cookies.save(session.downloader.cookies)
            return status
        }
    }

    private func configuration() throws -> Configuration {
        var configuration = try network.configuration()
        try cookies.apply(to: &configuration)
        disk.apply(to: &configuration)
        hooks.apply(to: &configuration)
        if let refreshCommand {
            let command = RefreshCommand(path: try HookOptions.program(refreshCommand))
            configuration.sourceProvider = { try await command.source($0) }
        }
        configuration.activeDownloads = jobs
        configuration.connectionsPerHost = max(configuration.connectionsPerHost, jobs)
        return configuration
    }

    private func requests(_ session: Session) async throws -> [DownloadRequest] {
        let texts = try urls.filter { !MetalinkOption.isFile($0) } + (inputFile.map(Self.read) ?? [])
        let metalinks = (urls.filter(MetalinkOption.isFile) + metalink).map(MetalinkOption.init)
        guard texts.count + metalinks.count <= 1 || options.areForMany else {
            throw ValidationError("--output, --checksum and --mirror are for a single file.")
        }
        var requests = try texts.map { text in
            var request = try options.request(text)
            network.apply(to: &request)
            guard !request.needsSource || refreshCommand != nil else {
                throw ValidationError("\(text) has no URL: name the program that knows one with --refresh-command.")
            }
            return request
        }
        for metalink in metalinks {
            for var request in try options.requests(try await metalink.load(session, network)) {
                network.apply(to: &request, from: metalink)
                requests.append(request)
            }
        }
        return requests
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
            return SpelledURL.text(front[...last])
        }
    }
}
