import ArgumentParser
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

    /// The values of the options, without ``notify``.
    var values: HookValues {
        HookValues(
            onStart: onStart,
            onComplete: onComplete,
            onError: onError,
            onAllComplete: onAllComplete,
            timeout: hookTimeout?.value,
            webhooks: webhook,
            webhookSecretFile: webhookSecretFile
        )
    }

    func hooks() throws -> [Downloader.Hook] {
        var hooks = try values.hooks()
        if notify { hooks.append(.desktopNotification(on: [.allCompleted])) }
        return hooks
    }
}
