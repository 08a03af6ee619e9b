import ArgumentParser
import CHaulSystem
import Foundation
import HaulFleet
import HaulKit
import Logging

struct WorkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "work",
        abstract: "Download items of the queue until stopped.",
        discussion: """
            SIGTERM, SIGHUP or Ctrl-C ends the worker: what it holds goes back to the queue. Started again on the same machine, it \
            continues the files that it had begun.
            """
    )

    @OptionGroup var queue: FleetOptions

    @Option(help: "Where files go, in place of what the queue says: a folder, or s3://BUCKET/PREFIX.")
    var to: String?

    @OptionGroup(title: "S3") var s3: S3Options

    @Option(name: .shortAndLong, help: "Downloads at the same time.")
    var jobs = 8

    @Option(help: "Largest number of connections of one download.")
    var connections: Int?

    @Option(
        help:
            "Items held at most, those that wait with the worker included: as many as end in two seconds. Default: 128 for each job."
    )
    var hold: Int?

    @Option(help: "Name of the worker in lists. Default: the machine's name.")
    var label: String?

    @Option(
        help:
            "Folder for the state of the worker's downloads; each worker of a machine takes a folder of its own in it."
    )
    var workFolder: String?

    @Option(help: "Speed limit of the worker in bytes a second; k, M and G count by 1024.")
    var limitRate: ByteCount?

    @Option(help: "Do not connect to these addresses: an address, a block, or `private`.")
    var denyAddress: [String] = []

    @Option(help: "A PEM file with certificates to trust besides the system's.")
    var cacert: String?

    @Option(help: "A file of lines ORIGIN FIELD: VALUE, sent with requests to that origin.")
    var originFields: String?

    @Option(
        help:
            "A file of lines ORIGIN PROXY, for requests to that origin; `direct` for none. Default: http_proxy and so on."
    )
    var originProxies: String?

    @Option(help: "URL of the store of items such as s3://BUCKET/KEY. Default: AWS_ENDPOINT_URL_S3, else Amazon S3.")
    var sourceEndpoint: String?

    @Option(help: "User-Agent field of requests.")
    var userAgent: String?

    @Flag(
        help: "End when the queue has nothing left, also nothing that other workers hold; with 1 if items have failed."
    )
    var untilDrained = false

    @Flag(help: "With --until-drained: end with 0 also if items have failed.")
    var allowFailed = false

    @Flag(help: "Print no progress.")
    var quiet = false

    func validate() throws {
        guard untilDrained || !allowFailed else {
            throw ValidationError("--allow-failed goes with --until-drained.")
        }
        guard jobs >= 1, jobs <= 1024 else { throw ValidationError("--jobs is a number from 1 to 1024.") }
        if let connections, !(1...64).contains(connections) {
            throw ValidationError("--connections is a number from 1 to 64.")
        }
        if let hold, !(1...100_000).contains(hold) { throw ValidationError("--hold is a number from 1 to 100000.") }
        if let userAgent, userAgent.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
            throw ValidationError("--user-agent is a line of text without control characters.")
        }
        _ = try deniedAddresses()
    }

    func run() async throws {
        haul_keep_freed_memory()
        let fleet = try queue.fleet()
        let folder = try WorkFolder(below: workFolder ?? Self.defaultFolder(queue.queue))
        let destination = try to.map { text in
            try DestinationText.make(text, S3Overrides(), currentFolder: try FilePaths.currentFolder(for: text))
        }
        let (worker, close) = try await fleet.worker(
            try options(),
            folder: folder,
            destination: destination,
            s3: s3.overrides,
            onWait: { FleetOutput.error($0.message + " Waiting for it.") }
        )
        defer { close() }
        Signals.stop { worker.stop() }
        let display = quiet ? nil : Task { await ProgressDisplay(worker).run() }
        let result: Result<Void, FleetError>
        do throws(FleetError) { result = .success(try await worker.run()) } catch { result = .failure(error) }
        display?.cancel()
        await display?.value
        if !quiet { FleetOutput.note(ProgressDisplay.line(worker.progress)) }
        try result.get()
        if untilDrained, !allowFailed, !Signals.haveCome { try await WaitCommand.checkFailures(of: fleet) }
    }

    /// Returns the fields of the environment and of the file; the file counts if both name an origin.
    private func fieldsOfOrigins() throws -> OriginFields? {
        let hub = try OriginFields.hub(ProcessInfo.processInfo.environment)
        guard let originFields else { return hub }
        let file = try OriginFields.lines(try Self.text(of: originFields), of: originFields)
        return hub.map { $0.merging(file) } ?? file
    }

    /// Returns the proxies of the environment, and those of the file for its origins.
    private func proxies() throws -> ProxySettings {
        var proxies = try ProxySettings.environment(ProcessInfo.processInfo.environment)
        if let originProxies {
            try OriginProxies.add(try Self.text(of: originProxies), of: originProxies, to: &proxies)
        }
        return proxies
    }

    private static func text(of file: String) throws -> String {
        do { return try String(contentsOfFile: file, encoding: .utf8) } catch {
            throw FleetError(.invalidInput, "\(file) cannot be read: \(FileReason.text(error)).")
        }
    }

    private func options() throws -> WorkerOptions {
        var configuration = Downloader.Configuration()
        configuration.connections.maxPerHost = max(configuration.connections.maxPerHost, jobs)
        configuration.telemetry.logger = Logger(label: "haul-fleet") { _ in WorkerLog() }
        if let connections { configuration.connections.maxPerDownload = connections }
        configuration.network.bytesPerSecond = limitRate?.bytes
        configuration.network.deniedAddresses = try deniedAddresses()
        configuration.network.certificateAuthorities = cacert
        configuration.network.proxies = try proxies()
        if let userAgent { configuration.network.userAgent = userAgent }
        // Descriptors for connections to the database and the destination, and for the files sent there.
        let others = 64
        let loops = try DescriptorLimit.prepare(
            downloads: jobs,
            connections: configuration.connections.maxPerDownload,
            others: others
        )
        configuration.network.otherDescriptors = min(others, DescriptorLimit.free / 3)
        configuration.network.eventLoops = loops
        var options = WorkerOptions(
            label: label ?? ProcessInfo.processInfo.hostName,
            jobs: jobs,
            capacity: hold,
            endsWhenDrained: untilDrained,
            configuration: configuration
        )
        options.originFields = try fieldsOfOrigins()
        let sources = S3Sources(ProcessInfo.processInfo.environment, endpoint: sourceEndpoint)
        if sourceEndpoint != nil { try sources.check() }
        options.s3Sources = sources
        return options
    }

    private func deniedAddresses() throws -> [AddressBlock] {
        try denyAddress.flatMap { text in
            if text == "private" { return AddressBlock.nonPublic }
            guard let block = AddressBlock(text) else {
                throw ValidationError(
                    "--deny-address is an address, a block such as 10.0.0.0/8, or `private`, not \(text)."
                )
            }
            return [block]
        }
    }

    private static func defaultFolder(_ queue: String) -> String {
        let environment = ProcessInfo.processInfo.environment
        let state = environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? NSHomeDirectory()
        return (state ?? home + "/.local/state") + "/haul-fleet/" + queue
    }
}
