import Foundation
import HaulKit
import NIOCore

/// The downloader and the display of one command, from opening the store to restoring the terminal.
struct CommandSession {
    let downloader: Downloader
    let display: any Display

    enum Style {
        case terminal(isVerbose: Bool)
        case quiet, json
    }

    /// Runs `work` with a downloader that Ctrl-C shuts down. Turns each ``DownloadError`` and ``Complaint`` into a
    /// message and an exit status.
    static func run(
        _ configuration: @autoclosure () throws -> Downloader.Configuration,
        _ style: Style,
        _ advice: ErrorAdvice,
        _ work: (CommandSession) async throws -> ExitStatus
    ) async throws {
        do {
            let status = try await open(try configuration(), style, advice, work)
            if status != .complete { throw status.code }
        } catch let error as DownloadError {
            Output.error(advice.text(error))
            throw ExitStatus(error).code
        } catch let complaint as Complaint {
            Output.error(complaint.sentence)
            throw complaint.status.code
        }
    }

    private static func open(
        _ configuration: Downloader.Configuration,
        _ style: Style,
        _ advice: ErrorAdvice,
        _ work: (CommandSession) async throws -> ExitStatus
    ) async throws -> ExitStatus {
        var configuration = configuration
        let loops = try DescriptorLimit.prepare(
            downloads: configuration.queue.maxConcurrentDownloads,
            connections: configuration.connections.maxPerDownload
        )
        NIOSingletons.groupLoopCountSuggestion = loops
        configuration.network.eventLoops = loops
        let downloader = try await Downloader(configuration)
        if downloader.quarantinedStore != nil, let salvaged = downloader.salvagedStore {
            Output.error(salvaged.sentence())
        }
        // Turns writing beyond `ulimit -f` into an error with a message. By default SIGXFSZ ends the process.
        signal(SIGXFSZ, SIG_IGN)
        Interruption.stop { await downloader.shutDown() }
        let status: ExitStatus
        let display = display(style, advice)
        defer { display.close() }
        do {
            status = try await work(CommandSession(downloader: downloader, display: display))
        } catch let error as DownloadError where Interruption.hasHappened && ExitStatus(error) == .interrupted {
            status = .interrupted
        } catch {
            await close(downloader, configuration.telemetry.trace)
            throw error
        }
        await close(downloader, configuration.telemetry.trace)
        if Interruption.hasHappened, status == .interrupted {
            Output.error("Interrupted. Received bytes are kept: run the same command again to resume.")
        }
        return status
    }

    private static func close(_ downloader: Downloader, _ trace: DownloadTrace?) async {
        await downloader.shutDown()
        // Waits until the refresh programs have ended, because only this process kills those that ignore SIGTERM.
        await RefreshCommand.waitForEnds()
        Interruption.end()
        if let sentence = await trace?.close() { Output.error(sentence) }
    }

    private static func display(_ style: Style, _ advice: ErrorAdvice) -> any Display {
        switch style {
        case .json: JSONDisplay(advice: advice)
        case .quiet: QuietDisplay(advice: advice)
        case .terminal(let isVerbose):
            Terminal.isInteractive ? TerminalDisplay(advice, isVerbose: isVerbose) : PlainDisplay(advice)
        }
    }
}
