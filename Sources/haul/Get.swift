import ArgumentParser
import CHaulSystem
import Foundation
import HaulKit

struct Get: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Downloads files. Run the same command again to resume.",
        discussion: """
            File names come from the server or the URL, made safe; a name that is taken gets a number: 'name (1).ext'. \
            A URL whose file is complete and unchanged is not fetched again.

            When standard output is not a terminal, the path of each complete file is printed on it, one per line.
            """
    )

    @Argument(help: "http or https URL to download; haul-source:KEY with --refresh-command.")
    var urls: [String] = []

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

    @Option(name: [.customShort("j", allowingJoined: true), .long], help: "Number of files to download at once.")
    var jobs: Int = 3

    @Option(
        help: """
            Run this program for a URL when a URL is refused or about to expire, and for each haul-source:KEY. It is \
            run without a shell and without arguments.
            """,
        completion: .file()
    )
    var refreshCommand: String?

    @OptionGroup var options: GetOptions

    @OptionGroup var network: NetworkOptions

    @OptionGroup var cookies: CookieOptions

    @OptionGroup var disk: DiskOptions

    @OptionGroup var hooks: HookOptions

    @Flag(name: [.short, .long], help: "Print only errors.")
    var quiet = false

    @Flag(name: [.short, .long], help: "Show the received parts of each file, and every connection.")
    var verbose = false

    @Flag(help: "Print events on standard output, one JSON object per line.")
    var json = false

    func validate() throws {
        if urls.isEmpty, inputFile == nil, metalink.isEmpty {
            throw ValidationError("Name a URL, a file of URLs with --input-file, or a Metalink with --metalink.")
        }
        guard (1...1000).contains(jobs) else { throw ValidationError("--jobs takes a number from 1 to 1000.") }
    }

    func run() async throws {
        haul_keep_freed_memory()
        // Before the store is opened: whoever waits for the end of standard input has nothing yet to be stopped in order.
        var list: InputList?
        try await Session.run(
            configuration { list = try inputFile.map(InputList.init(path:)) },
            json ? .json : quiet ? .quiet : .terminal(isVerbose: verbose),
            .get
        ) { session in
            let hooks = try hooks.hooks()
            let wanted = try await wanted(list, session)
            // Only now: a Metalink that was fetched is none of the downloads that were asked for.
            await session.downloader.setHooks(hooks)
            let status = await GetRun(session.downloader, session.display, active: jobs).finish(wanted)
            if await !session.downloader.waitForHooks(within: .seconds(2)) {
                session.display.noted("Waiting for hooks. Ctrl-C gives them ten seconds more.")
                await session.downloader.waitForHooks(within: .seconds(30 * 86_400))
            }
            try cookies.save(session.downloader.cookies)
            return status
        }
    }

    private func configuration(_ readList: () throws -> Void) throws -> Configuration {
        try readList()
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

    private func wanted(_ list: InputList?, _ session: Session) async throws -> Wanted {
        let texts = urls.filter { !MetalinkOption.isFile($0) }
        let metalinks = (urls.filter(MetalinkOption.isFile) + metalink).map(MetalinkOption.init)
        guard texts.count + (list?.lines.count ?? 0) + metalinks.count <= 1 || options.areForMany else {
            throw ValidationError("--output, --checksum and --mirror are for a single file.")
        }
        var wanted = Wanted(try texts.map(request))
        if let list { wanted.add(list, request) }
        for metalink in metalinks {
            for var request in try options.requests(try await metalink.load(session, network)) {
                network.apply(to: &request, from: metalink)
                wanted.add(request)
            }
        }
        return wanted
    }

    private func request(_ text: String) throws -> DownloadRequest {
        var request = try options.request(text)
        network.apply(to: &request)
        guard !request.needsSource || refreshCommand != nil else {
            throw ValidationError("\(text) has no URL: name a program that prints one with --refresh-command.")
        }
        return request
    }
}
