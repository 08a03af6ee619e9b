import ArgumentParser
import Foundation
import HaulAria2
import HaulKit
import HaulServer
import Logging
import NIOCore
import ServiceLifecycle

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs the daemon: a queue of downloads with a page, an API and commands.",
        discussion: """
            The printed link signs the page in, once and within ten minutes. Downloads go on when the page is closed, and \
            after the daemon was ended in any way and started again.

            Each option can also be set by the environment (HAUL_LISTEN for --listen) and in a JSON file \
            ($XDG_CONFIG_HOME/haul/serve.json: {"listen": "127.0.0.1:4285"}), in this order of precedence. SIGHUP reads both \
            again. SIGTERM ends the daemon; received bytes are kept.
            """
    )

    @OptionGroup(title: "Daemon") var options: ServeOptions

    @Flag(help: "Print each setting, its value and where it was set, and end.")
    var printConfig = false

    func run() async throws {
        do {
            let settings = try await ServeSettings.read(options)
            if printConfig {
                try settings.checkFolders()
                for line in settings.lines { Output.result(line) }
                return
            }
            try await Daemon(settings, options).run()
        } catch let complaint as Complaint {
            Output.error(complaint.sentence)
            throw complaint.status.code
        } catch let error as ServerError {
            Output.error(error.message)
            throw ExitStatus.otherFailure.code
        } catch let error as DownloadError {
            Output.error(ErrorAdvice.get(allowsGaps: false).text(error))
            throw ExitStatus(error).code
        }
    }
}

/// Options of `haul serve`: one for each ``ServeSetting``, and `--config` for the path of the settings file. The
/// environment, then that file, then the default supplies an option that is not given.
struct ServeOptions: ParsableArguments {
    @Option(help: ServeSetting.listen.argumentHelp)
    var listen: String?

    @Option(help: ServeSetting.socket.argumentHelp, completion: .file())
    var socket: String?

    @Option(name: [.customShort("d"), .long], help: ServeSetting.directory.argumentHelp, completion: .directory)
    var directory: String?

    @Option(help: ServeSetting.root.argumentHelp, completion: .directory)
    var root: [String] = []

    @Option(help: ServeSetting.allowHost.argumentHelp)
    var allowHost: [String] = []

    @Option(help: ServeSetting.trustProxy.argumentHelp)
    var trustProxy: [String] = []

    @Option(help: ServeSetting.denyAddress.argumentHelp)
    var denyAddress: [String] = []

    @Flag(help: ServeSetting.allowLinkLocal.argumentHelp)
    var allowLinkLocal = false

    @Option(name: [.customShort("j"), .long], help: ServeSetting.jobs.argumentHelp)
    var jobs: Int?

    @Option(help: ServeSetting.logLevel.argumentHelp)
    var logLevel: String?

    @Option(help: ServeSetting.logFormat.argumentHelp)
    var logFormat: String?

    @Option(help: ServeSetting.umask.argumentHelp)
    var umask: String?

    @Option(help: ServeSetting.maxStreams.argumentHelp)
    var maxStreams: Int?

    @Option(help: ServeSetting.playing.argumentHelp)
    var playing: String?

    @OptionGroup var downloads: ServeDownloadOptions

    @OptionGroup var hooks: ServeHookOptions

    @OptionGroup var aria2: ServeAria2Options

    @Option(help: "File with settings (default: haul/serve.json in the XDG configuration folder).", completion: .file())
    var config: String?

    @OptionGroup var state: StateOptions
}

/// Options of `haul serve` for defaults of downloads.
struct ServeDownloadOptions: ParsableArguments {
    @Option(help: ServeSetting.userAgent.argumentHelp)
    var userAgent: String?

    @Option(help: ServeSetting.proxy.argumentHelp)
    var proxy: String?

    @Option(help: ServeSetting.rules.argumentHelp)
    var rules: String?

    @Option(help: ServeSetting.groups.argumentHelp)
    var groups: String?
}

/// Options of `haul serve` for programs and webhooks.
struct ServeHookOptions: ParsableArguments {
    @Option(help: ServeSetting.onStart.argumentHelp, completion: .file())
    var onStart: [String] = []

    @Option(help: ServeSetting.onComplete.argumentHelp, completion: .file())
    var onComplete: [String] = []

    @Option(help: ServeSetting.onError.argumentHelp, completion: .file())
    var onError: [String] = []

    @Option(help: ServeSetting.onAllComplete.argumentHelp, completion: .file())
    var onAllComplete: [String] = []

    @Option(help: ServeSetting.hookTimeout.argumentHelp)
    var hookTimeout: String?

    @Option(help: ServeSetting.webhook.argumentHelp)
    var webhook: [String] = []

    @Option(help: ServeSetting.webhookSecretFile.argumentHelp, completion: .file())
    var webhookSecretFile: String?
}

/// Options of `haul serve` for clients of aria2.
struct ServeAria2Options: ParsableArguments {
    @Option(help: ServeSetting.aria2RPC.argumentHelp)
    var aria2Rpc: String?

    @Option(help: ServeSetting.aria2SecretFile.argumentHelp, completion: .file())
    var aria2SecretFile: String?

    @Option(help: ServeSetting.aria2Secret.argumentHelp)
    var rpcSecret: String?

    @Option(help: ServeSetting.aria2AllowOrigin.argumentHelp)
    var aria2AllowOrigin: [String] = []

    @Flag(help: ServeSetting.aria2NotifyAll.argumentHelp)
    var aria2NotifyAll = false
}
