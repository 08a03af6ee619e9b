/// Programs and webhooks of the daemon. They have the names and effects of the options of `haul get`.
extension ServeSetting {
    static let hooks: [ServeSetting] = [
        onStart, onComplete, onError, onAllComplete, hookTimeout, webhook, webhookSecretFile,
    ]

    static let onStart: ServeSetting = .list(
        "on-start",
        change: .restart { $0.hooks },
        "Run this program, without a shell, when a download starts. May be given several times.",
        { $0.hooks.onStart },
        apply: { paths, settings in settings.hooks.onStart = paths }
    )

    static let onComplete: ServeSetting = .list(
        "on-complete",
        change: .restart { $0.hooks },
        "Run this program with the path of the file when a file is complete. May be given several times.",
        { $0.hooks.onComplete },
        apply: { paths, settings in settings.hooks.onComplete = paths }
    )

    static let onError: ServeSetting = .list(
        "on-error",
        change: .restart { $0.hooks },
        "Run this program when a download fails. May be given several times.",
        { $0.hooks.onError },
        apply: { paths, settings in settings.hooks.onError = paths }
    )

    static let onAllComplete: ServeSetting = .list(
        "on-all-complete",
        change: .restart { $0.hooks },
        "Run this program when all downloads have ended. May be given several times.",
        { $0.hooks.onAllComplete },
        apply: { paths, settings in settings.hooks.onAllComplete = paths }
    )

    static let hookTimeout: ServeSetting = .text(
        "hook-timeout",
        standard: { _ in "60" },
        change: .restart { $0.hooks },
        "Time limit of these programs in seconds (default: 60).",
        { $0.hooks.hookTimeout },
        apply: { text, settings in
            guard let seconds = Seconds(argument: text), seconds.isPositive else {
                throw Complaint("--hook-timeout takes a number of seconds above 0.", .usage)
            }
            settings.hooks.timeout = seconds.value
        }
    )

    /// Secret, because a URL may contain a token of its receiver.
    static let webhook: ServeSetting = .list(
        "webhook",
        secret: true,
        change: .restart { $0.hooks },
        "Send the events of all downloads to this URL, as JSON. May be given several times.",
        { $0.hooks.webhook },
        apply: { urls, settings in settings.hooks.webhooks = urls }
    )

    static let webhookSecretFile: ServeSetting = .text(
        "webhook-secret-file",
        standard: { _ in "" },
        change: .restart { $0.hooks },
        "Sign the requests of --webhook with the secret in this file.",
        { $0.hooks.webhookSecretFile },
        apply: { path, settings in settings.hooks.webhookSecretFile = path.isEmpty ? nil : path }
    )
}
