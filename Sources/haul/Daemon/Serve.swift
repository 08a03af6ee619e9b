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
            Output.error(ErrorAdvice.get.text(error))
            throw ExitStatus(error).code
        }
    }
}

/// Options of `haul serve`. The environment, then the file, then the default supplies an option that is not given.
struct ServeOptions: ParsableArguments {
    @Option(help: "Address and port of the page and the API (default: 127.0.0.1:4285); 'off' for the socket alone.")
    var listen: String?

    @Option(help: "Unix socket for commands (default: daemon.sock in the XDG runtime folder).", completion: .file())
    var socket: String?

    @Option(
        name: [.customShort("d"), .long],
        help: "Folder for downloads (default: the XDG download folder, else ~/Downloads).",
        completion: .directory
    )
    var directory: String?

    @Option(help: "Another folder that downloads may be saved in. May be given several times.", completion: .directory)
    var root: [String] = []

    @Option(help: "A host name that requests may use besides localhost and IP addresses. May be given several times.")
    var allowHost: [String] = []

    @Option(help: "IP address of a proxy of which X-Forwarded-Proto is believed. May be given several times.")
    var trustProxy: [String] = []

    @Option(
        help: """
            Addresses that downloads may not connect to: 'private' (loopback, private and link-local networks), an IP address or a \
            block (10.0.0.0/8). May be given several times (default: none).
            """
    )
    var denyAddress: [String] = []

    @Option(name: [.customShort("j"), .long], help: "Downloads at once (default: 3).")
    var jobs: Int?

    @Option(
        help: "Least severe messages that are logged: trace, debug, info, notice, warning or error (default: info)."
    )
    var logLevel: String?

    @Option(help: "Event streams that may be open at once (default: 32).")
    var maxStreams: Int?

    @OptionGroup var aria2: ServeAria2Options

    @Option(help: "File with settings (default: haul/serve.json in the XDG configuration folder).", completion: .file())
    var config: String?

    @OptionGroup var state: StateOptions
}

/// Options of `haul serve` for clients of aria2.
struct ServeAria2Options: ParsableArguments {
    @Option(
        help: """
            Address and port of aria2's RPC, for its clients: PORT, HOST:PORT, or 'on' for 127.0.0.1:6800 (default: 'off').
            """
    )
    var aria2Rpc: String?

    @Option(
        help: "File with the secret of aria2's RPC. HAUL_ARIA2_SECRET in the environment has the same effect.",
        completion: .file()
    )
    var aria2SecretFile: String?

    @Option(
        help:
            "Secret of aria2's RPC, as aria2 names it. Others on this machine can read it: prefer --aria2-secret-file."
    )
    var rpcSecret: String?

    @Option(
        help: """
            An origin whose pages may use aria2's RPC, such as https://ariang.example; '*' for all. May be given several times.
            """
    )
    var aria2AllowOrigin: [String] = []

    @Flag(help: "Tell WebSockets of downloads before they have shown the secret, as aria2 does.")
    var aria2NotifyAll = false
}
