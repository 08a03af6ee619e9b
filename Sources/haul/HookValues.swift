import Foundation
import HaulKit

/// Programs and webhooks for starts and ends of downloads, as options or settings name them.
struct HookValues: Sendable, Equatable {
    var onStart: [String] = []
    var onComplete: [String] = []
    var onError: [String] = []
    var onAllComplete: [String] = []
    /// Time limit of the programs in seconds; `nil` for the default.
    var timeout: Double?
    var webhooks: [String] = []
    var webhookSecretFile: String?

    func apply(to configuration: inout Downloader.Configuration) {
        if let timeout { configuration.hooks.commandTime = .seconds(timeout) }
    }

    /// - Throws: ``Complaint`` if a program cannot be run, or a URL or the secret cannot be used.
    func hooks() throws -> [Downloader.Hook] {
        let programs: [(HookEvent, [String])] = [
            (.started, onStart), (.completed, onComplete), (.failed, onError), (.allCompleted, onAllComplete),
        ]
        let commands = try programs.flatMap { event, paths in
            try paths.map { Downloader.Hook.command(path: try Self.program($0), on: [event]) }
        }
        guard webhookSecretFile == nil || !webhooks.isEmpty else {
            throw Complaint("--webhook-secret-file needs --webhook.", .usage)
        }
        let secret = try webhookSecretFile.map(Self.secret)
        return try commands
            + webhooks.map {
                Downloader.Hook.webhook(try Self.receiver($0), secret: secret, on: Set(HookEvent.allCases))
            }
    }

    /// Returns the absolute path of an executable file.
    ///
    /// Commands call this function at their start, so that a wrong path is not found only when a download ends.
    ///
    /// - Throws: ``Complaint`` if the file is missing or cannot be run.
    static func program(_ path: String) throws -> String {
        let absolute = try FilePaths.absolute(path)
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: absolute, isDirectory: &isFolder), !isFolder.boolValue,
            FileManager.default.isExecutableFile(atPath: absolute)
        else {
            throw Complaint(
                "\(SetSourceText.shown(path)) is no program that can be run. Name the path of a program; it is run without a shell.",
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
