import ArgumentParser
import Foundation
import HaulKit
import HaulServer
import NIOHTTP1

struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Adds downloads to the queue of the daemon, which downloads them on its own.",
        discussion: """
            A URL that the daemon has already is not added again. Without --watch the command ends at once, and the exit \
            status says whether everything was added.

            hf://ORG/NAME, and every argument with --set, is a set of files as for 'haul sync'. Its folder is --directory, \
            else one with its name in the folder of the daemon.
            """
    )

    @Argument(help: "http or https URL to download, or a set: hf://ORG/NAME.")
    var urls: [String] = []

    @OptionGroup var options: AddOptionGroup

    @OptionGroup(title: OptionTitle.sets) var sets: AddSetOptions

    @Flag(help: "Show the downloads until they have ended. The daemon goes on without this command.")
    var watch = false

    @Flag(name: [.short, .long], help: "Print ids alone.")
    var quiet = false

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @OptionGroup var daemon: DaemonOptions

    func validate() throws {
        if urls.isEmpty, options.inputFile == nil, options.metalink.isEmpty {
            throw ValidationError("Name a URL, a file of URLs with --input-file, or a Metalink with --metalink.")
        }
        try sets.check(urls, options)
        if quiet, json { throw ValidationError("Name either --quiet or --json.") }
    }

    func run() async throws {
        try await daemon.run { client in
            // Reads all files before the first request, because a file may be a pipe that blocks.
            let parts = try AddParts(urls.filter { !sets.isSet($0) }, options)
            let wantedSets = try urls.filter(sets.isSet).map { try sets.fields($0, options) }
            var ids: [DownloadID] = []
            var status = ExitStatus.complete
            for refused in parts.unreadable {
                Output.error(refused)
                status = .usage
            }
            for part in parts.parts {
                let answer: AddParts.Answer = try await client.value(.POST, "/api/v1/downloads", part.fields)
                for (index, item) in answer.items.enumerated() {
                    if let problem = item.error {
                        let complaint = Complaint(problem)
                        Output.error(
                            [part.place(index), complaint.sentence].compactMap(\.self).joined(separator: ": ")
                        )
                        if status == .complete { status = complaint.status }
                    }
                    guard let row = item.download else { continue }
                    ids.append(row.id)
                    print(row, item.existed)
                }
            }
            let added = AddedSets(client, isJSON: json, isQuiet: quiet, isWatched: watch)
            var ended = try await added.add(wantedSets)
            if status == .complete { status = ended }
            if watch, !ids.isEmpty {
                ended = try await WatchRun(client, only: ids, isJSON: json, isQuiet: quiet).run()
                if status == .complete { status = ended }
            }
            ended = try await added.watch()
            if status == .complete { status = ended }
            if status != .complete { throw status.code }
        }
    }

    private func print(_ row: DownloadRow, _ existed: Bool) {
        if json {
            if !watch { JSONLine.print(row) }
        } else if quiet {
            Output.result(row.id.description)
        } else if existed {
            Output.result("\(row.id.short)  \(DownloadTable.name(row))  (there already: \(row.state.rawValue))")
        } else {
            Output.result("\(row.id.short)  \(DownloadTable.name(row))")
        }
    }
}

/// Options for the downloads of `haul add`, with the names that `haul get` uses.
struct AddOptionGroup: ParsableArguments {
    @Option(
        name: [.short, .long],
        help: "Read URLs from a file, one per line, mirrors after tabs. '-': standard input. '#' starts a comment.",
        completion: .file()
    )
    var inputFile: String?

    @Option(help: "Add the files that this Metalink file describes. Repeatable.", completion: .file())
    var metalink: [String] = []

    @Option(
        name: [.short, .long],
        help: "Name of the file, or its path. Fails if it exists, unless --on-conflict says otherwise.",
        completion: .file()
    )
    var output: String?

    @Option(
        name: [.short, .long],
        help: "Folder for the files, which the daemon must allow (default: its own).",
        completion: .directory
    )
    var directory: String?

    @Option(help: "Another URL of the same file. Repeatable.")
    var mirror: [String] = []

    @Option(help: "Digest that the file must have, as ALG:HEX (md5, sha1, sha256, sha512, git-sha1).")
    var checksum: ChecksumArgument?

    @Option(help: "What to do when the file exists: fail, rename or skip.")
    var onConflict: DownloadRequest.ConflictPolicy?

    @Option(help: "Send a header field, as 'Name: value'. Repeatable. Not sent to other origins.")
    var header: [HeaderArgument] = []

    @OptionGroup var origin: RequestOriginOptions

    @OptionGroup var streams: StreamOptions

    @Option(help: "Limit of each download in bytes per second: 800000, 500k, 2M, 1.5MiB.")
    var limitRate: ByteCount?

    @Option(help: "Group of the downloads.")
    var group: String?

    @Option(help: "Priority in the queue: higher numbers first (default: 0).")
    var priority: Int?

    @Flag(help: "Add the downloads without starting them.")
    var paused = false

    func validate() throws {
        guard header.allSatisfy({ $0.field != nil }) else {
            throw ValidationError(
                "--header takes a field as 'Name: value'. What was given is not shown, since it may hold a password."
            )
        }
        let names = header.compactMap { $0.field?.name.lowercased() }
        if Set(names).count < names.count { throw ValidationError("--header names a field twice.") }
        try origin.check(against: header)
        try GetOptions.check(output: output, directory: directory)
        if directory != nil, let output, output.contains("/") {
            throw ValidationError("--output \(output) names a folder, so --directory does not go with it.")
        }
        try GetOptions.check(mirrors: mirror)
        if let limitRate, limitRate.bytes < 1 { throw ValidationError("--limit-rate takes a number above 0.") }
        if onConflict == .overwrite {
            throw ValidationError("The daemon does not overwrite files: --on-conflict takes fail, rename or skip.")
        }
        if let other = metalink.first(where: { $0.contains("://") }) {
            throw ValidationError("--metalink takes a file, not a URL: \(URL.maskedWithoutHost(other))")
        }
    }

    /// The header fields for requests of the downloads.
    var headers: [HeaderField] {
        header.compactMap(\.field) + [origin.userAgentField, origin.refererField].compactMap(\.self)
    }

    var isForOne: Bool { output != nil || checksum != nil || !mirror.isEmpty }
}
