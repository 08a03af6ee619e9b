import ArgumentParser
import Foundation
import HaulKit

/// Programs, webhooks and notifications for starts and ends of downloads.
struct HookOptions: ParsableArguments {
    @Option(help: "Run this program, without a shell, when a download starts. Repeatable.", completion: .file())
    var onStart: [String] = []

    @Option(
        help: "Run this program with the path of the file when a file is complete. Repeatable.",
        completion: .file()
    )
    var onComplete: [String] = []

    @Option(help: "Run this program when a download fails. Repeatable.", completion: .file())
    var onError: [String] = []

    @Option(help: "Run this program when all downloads have ended. Repeatable.", completion: .file())
    var onAllComplete: [String] = []

    @Option(help: "Time limit of these programs in seconds (default: 60).")
    var hookTimeout: Seconds?

    @Option(help: "Send the events of all downloads to this URL, as JSON. Repeatable.")
    var webhook: [String] = []

    @Option(help: "Sign the requests of --webhook with the secret in this file.", completion: .file())
    var webhookSecretFile: String?

    @Flag(help: "Show a desktop notification when all downloads have ended.")
    var notify = false

    func validate() throws {
        if let hookTimeout, !hookTimeout.isPositive {
            throw ValidationError("--hook-timeout takes a number of seconds above 0.")
        }
        if webhookSecretFile != nil, webhook.isEmpty {
            throw ValidationError("--webhook-secret-file needs --webhook.")
        }
    }

    func apply(to configuration: inout Downloader.Configuration) {
        if let hookTimeout { configuration.hooks.commandTime = .seconds(hookTimeout.value) }
    }

    func hooks() throws -> [Downloader.Hook] {
        let programs: [(HookEvent, [String])] = [
            (.started, onStart), (.completed, onComplete), (.failed, onError), (.allCompleted, onAllComplete),
        ]
        var hooks = try programs.flatMap { event, paths in
            try paths.map { Downloader.Hook.command(path: try Self.program($0), on: [event]) }
        }
        let secret = try webhookSecretFile.map(Self.secret)
        hooks += try webhook.map { .webhook(try Self.receiver($0), secret: secret, on: Set(HookEvent.allCases)) }
        if notify { hooks.append(.desktopNotification(on: [.allCompleted])) }
        return hooks
    }

    /// Returns the absolute path of an executable file. Commands check this at the start, not at the end of the first
    /// download.
    static func program(_ path: String) throws -> String {
        let absolute = try FilePaths.absolute(path)
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: absolute, isDirectory: &isFolder), !isFolder.boolValue,
            FileManager.default.isExecutableFile(atPath: absolute)
        else {
            throw Complaint(
                "\(path) is no program that can be run. Name the path of a program; it is run without a shell.",
                .usage
            )
        }
        return absolute
    }

    private static func receiver(_ text: String) throws -> URL {
        let url = try GetOptions.url(text)
        guard HTTPURL(url) != nil else {
            throw Complaint("--webhook takes an http or https URL.", .usage)
        }
        return url
    }

    private static let mostSecretBytes = 64 << 10

    private static func secret(_ path: String) throws -> String {
        let data = try OptionFile.contents(path, limit: mostSecretBytes)
        guard data.count <= mostSecretBytes, let text = String(data: data, encoding: .utf8) else {
            throw Complaint("\(path) holds no secret: it is too large, or no text in UTF-8.", .usage)
        }
        // Editors end a file with a line break, which does not belong to the secret.
        let secret = text.trimmingCharacters(in: .newlines)
        guard !secret.isEmpty else { throw Complaint("\(path) holds no secret.", .usage) }
        return secret
    }
}
