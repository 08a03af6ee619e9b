import ArgumentParser
import CHaulSystem
import Foundation
import HaulKit

struct Get: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Downloads files. Run the same command again to resume.",
        discussion: """
            File names come from the server or the URL, made safe; a name that is taken gets a number: 'name (1).ext'. \
            A URL whose file is complete and unchanged is not fetched again. A URL that leads to the playlist of a \
            stream (HLS) gives one file, the film. Ctrl-C ends the recording of a live stream, whose film is then \
            complete.

            When standard output is not a terminal, the path of each complete file is printed on it, one per line.
            """
    )

    @Argument(help: "http or https URL to download; haul-source:KEY with --refresh-command.")
    var urls: [String] = []

    @OptionGroup(title: OptionTitle.sources) var sources: SourceOptions

    @OptionGroup(title: OptionTitle.files) var options: GetOptions

    @OptionGroup(title: OptionTitle.files) var checksums: ChecksumListOptions

    @OptionGroup(title: OptionTitle.streams) var variantList: VariantListOption

    @OptionGroup(title: OptionTitle.streams) var streams: StreamOptions

    @OptionGroup(title: OptionTitle.speed) var queue: QueueOptions

    @OptionGroup var network: NetworkOptions

    @OptionGroup(title: OptionTitle.credentials) var cookies: CookieOptions

    @OptionGroup(title: OptionTitle.disk) var disk: DiskOptions

    @OptionGroup(title: OptionTitle.hooks) var hooks: HookOptions

    @Flag(name: [.short, .long], help: "Print only errors.")
    var quiet = false

    @Flag(name: [.short, .long], help: "Show the received parts of each file, and every connection.")
    var verbose = false

    @Flag(help: "Print events on standard output, one JSON object per line.")
    var json = false

    @Option(
        help: "Record every event of the downloads in FILE, for a bug report. Passwords and cookies are left out.",
        completion: .file()
    )
    var trace: String?

    func validate() throws {
        if urls.isEmpty, sources.inputFile == nil, sources.metalink.isEmpty {
            throw ValidationError("Name a URL, a file of URLs with --input-file, or a Metalink with --metalink.")
        }
        guard variantList.listVariants else { return }
        if checksums.checksums != nil {
            throw ValidationError("--list-variants downloads nothing, so --checksums does not go with it.")
        }
        if streams.noStream {
            throw ValidationError("--list-variants reads the playlist, so --no-stream does not go with it.")
        }
        if !sources.metalink.isEmpty || urls.contains(where: MetalinkOption.isFile) {
            throw ValidationError("--list-variants takes URLs, not a Metalink.")
        }
    }

    func run() async throws {
        haul_keep_freed_memory()
        var named = NamedFiles()
        try await CommandSession.run(
            configuration { named = try read() },
            json ? .json : quiet || variantList.listVariants ? .quiet : .terminal(isVerbose: verbose),
            .get(allowsGaps: streams.allowGaps)
        ) { session in
            let wanted = try await wanted(named, session)
            if variantList.listVariants {
                return await VariantList(session.downloader, session.display, isJSON: json).print(wanted)
            }
            Interruption.finish { await Self.finishRecording(session) }
            // Sets the hooks after Metalinks were fetched, because hooks are not for the download of a Metalink.
            let actions = named.hooks
            try await session.downloader.update { $0.hooks.actions = actions }
            let status = await GetRun(session.downloader, session.display, active: queue.jobs).finish(wanted)
            if await !session.downloader.waitForHooks(within: .seconds(2)) {
                session.display.noted("Waiting for hooks. Ctrl-C gives them ten seconds more.")
            }
            for lost in await session.downloader.finishHooks() {
                let messages = lost.count == 1 ? "A message was" : "\(lost.count) messages were"
                Output.error("\(messages) not delivered to the webhook at \(lost.receiver).")
            }
            return cookies.save(session.downloader.cookies, after: status)
        }
    }

    /// Ends the recordings of live streams.
    ///
    /// - Returns: whether there was one.
    private static func finishRecording(_ session: CommandSession) async -> Bool {
        // The call throws only after a shutdown of the downloader, which has ended all recordings.
        guard (try? await session.downloader.finishRecording()) == true else { return false }
        session.display.noted("Ending the recording. The film is put together now; Ctrl-C interrupts that.")
        return true
    }

    /// Contents of the files that the command line names. The files are read before the store is opened, because
    /// reading a pipe may block, and a signal ends the process at once only while the store is not open.
    private struct NamedFiles {
        var list: InputList?
        var metalinks: [MetalinkOption] = []
        var hooks: [Downloader.Hook] = []
        var checksums: ChecksumListSource?
    }

    private func read() throws -> NamedFiles {
        NamedFiles(
            list: try sources.inputFile.map(InputList.init(path:)),
            metalinks: try (urls.filter(MetalinkOption.isFile) + sources.metalink).map(MetalinkOption.init),
            hooks: try hooks.hooks(),
            checksums: try checksums.source()
        )
    }

    /// Opens the trace. If that fails, prints the reason and returns `nil`, so that the downloads run without a trace.
    private static func trace(_ path: String) -> DownloadTrace? {
        do throws(DownloadError) { return try DownloadTrace(path: path) } catch {
            Output.error("No trace is recorded. \(error.message)")
            return nil
        }
    }

    private func configuration(_ readFiles: () throws -> Void) throws -> Downloader.Configuration {
        try readFiles()
        var configuration = try network.configuration()
        try cookies.apply(to: &configuration)
        disk.apply(to: &configuration)
        hooks.values.apply(to: &configuration)
        if let refreshCommand = sources.refreshCommand {
            let command = RefreshCommand(path: try HookValues.program(refreshCommand))
            configuration.sources.provider = { try await command.source($0) }
        }
        configuration.telemetry.trace = trace.flatMap(Self.trace)
        configuration.queue.maxConcurrentDownloads = queue.jobs
        configuration.connections.maxPerHost = max(configuration.connections.maxPerHost, queue.jobs)
        return configuration
    }

    private func wanted(_ named: NamedFiles, _ session: CommandSession) async throws -> Wanted {
        let texts = urls.filter { !MetalinkOption.isFile($0) }
        let (list, metalinks) = (named.list, named.metalinks)
        guard texts.count + (list?.lines.count ?? 0) + metalinks.count <= 1 || options.areForMany else {
            throw ValidationError("--output, --checksum and --mirror are for a single file.")
        }
        var wanted = Wanted(try texts.map(request))
        if let list { wanted.add(list, request) }
        for metalink in metalinks {
            let document = try await metalink.load(session, network, notesLeftOut: false)
            wanted.add(leftOut: document.leftOut, of: metalink.place)
            for var request in try options.requests(document) {
                network.apply(to: &request, from: metalink)
                request.stream = streams.stream(output: options.output)
                wanted.add(request)
            }
        }
        if let source = named.checksums {
            let listed = try await session.downloader.checksums(source, headers: network.headers)
            if let signer = listed.signedBy {
                session.display.signed(SetSourceText.shown(checksums.checksums ?? ""), by: signer)
            }
            wanted.take(listed)
        }
        return wanted
    }

    private func request(_ text: String) throws -> DownloadRequest {
        var request = try options.request(text)
        network.apply(to: &request)
        request.stream = streams.stream(output: options.output)
        guard !request.needsSource || sources.refreshCommand != nil else {
            throw ValidationError("\(URL.cut(text)) has no URL: name a program that prints one with --refresh-command.")
        }
        return request
    }
}
