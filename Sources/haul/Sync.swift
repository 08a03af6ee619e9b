import ArgumentParser
import CHaulSystem
import CommandWords
import Foundation
import HaulKit

struct Sync: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes a folder hold a set of files that its publisher names.",
        discussion: """
            SOURCE is hf://ORG/NAME[@REVISION] (also hf://datasets/…, hf://spaces/…), the URL of a list of digests \
            (SHA256SUMS, *.sha256, checksums.txt, …), a Metalink, the page of a release on GitHub, GitLab or Gitea, the \
            URL of a folder that its server lists (with a slash at the end), or a list or receipt on this disk.

            Fetches what is missing or different, and proves each file before it gets its name. Run the same command \
            again to resume, or to update. HF_TOKEN, else the token of the hub's own login, is sent to the hub alone.

            Exit status: 0 the folder holds the set, 5 a digest or a signature is wrong, otherwise as 'haul get'.
            """
    )

    @Argument(help: "Where the list of the files comes from.")
    var source: String

    @OptionGroup(title: OptionTitle.sets) var options: SetCommandOptions

    @OptionGroup(title: OptionTitle.sets) var signature: SignatureOptions

    @OptionGroup(title: OptionTitle.speed) var queue: QueueOptions

    @OptionGroup var network: NetworkOptions

    @OptionGroup(title: OptionTitle.disk) var disk: DiskOptions

    @Flag(name: [.short, .long], help: "Print only errors.")
    var quiet = false

    @Flag(name: [.short, .long], help: "Show the received parts of each file, and every connection.")
    var verbose = false

    @Flag(help: "Print events on standard output, one JSON object per line; the last one sums up the set.")
    var json = false

    func validate() throws {
        guard !options.check || (!options.delete && !options.verify) else {
            throw ValidationError(
                "--check reads every file and changes nothing: --verify and --delete do not go with it."
            )
        }
    }

    func run() async throws {
        haul_keep_freed_memory()
        let chosen: SetSourceArgument
        do { chosen = try SetSourceArgument(source, options, signature) } catch let complaint as Complaint {
            Output.error(complaint.sentence)
            throw complaint.status.code
        }
        try await CommandSession.run(
            configuration(),
            json ? .json : quiet ? .quiet : .terminal(isVerbose: verbose),
            .sync
        ) { session in
            let run = SyncRun(session, options, isQuiet: quiet, isJSON: json, active: queue.jobs)
            var settings = options.settings
            settings.headers = network.headers
            settings.allowsInsecureRedirects = network.connection.allowInsecureRedirects
            do {
                if options.check { return try await run.compare(chosen.source, settings) }
                return try await run.sync(chosen.source, settings)
            } catch {
                if json, let error = error as? DownloadError { SetReportLines.printFailure(error, of: source) }
                throw error
            }
        }
    }

    private func configuration() throws -> Downloader.Configuration {
        var configuration = try network.configuration()
        disk.apply(to: &configuration)
        configuration.storage.confined = ConfinedFolders([try FilePaths.absolute(options.directory)])
        configuration.queue.maxConcurrentDownloads = queue.jobs
        configuration.connections.maxPerHost = max(configuration.connections.maxPerHost, queue.jobs)
        return configuration
    }
}

/// The options of `haul sync` about the set and its folder.
struct SetCommandOptions: ParsableArguments {
    @Option(name: [.short, .long], help: "Folder that shall hold the set.", completion: .directory)
    var directory: String = "."

    @OptionGroup var selection: SetSelectionOptions

    @Option(help: "URL of the folder that a list on this disk describes.")
    var base: String?

    @Flag(
        help: "Compare the folder with the set, byte by byte; fetch nothing and change nothing. Status 5: they differ."
    )
    var check = false

    @Flag(help: "Read every file, also where size and time say that it is unchanged.")
    var verify = false

    @Flag(help: "Remove files that an earlier sync brought and the set no longer has.")
    var delete = false

    @Option(help: "Write a receipt: source, revision, signer, and each file with its digest.", completion: .file())
    var receipt: String?

    func validate() throws {
        if directory.isEmpty { throw ValidationError("--directory takes the path of a folder.") }
        if let base, HTTPURL(base) == nil { throw ValidationError("--base takes an http or https URL.") }
        if let receipt, !FilePaths.isNameOfFile(receipt) {
            throw ValidationError("--receipt takes the path of a file.")
        }
    }

    var settings: SetOptions {
        var settings = selection.settings
        settings.verifies = verify
        settings.deletes = delete
        return settings
    }
}
