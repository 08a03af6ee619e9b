import AsyncHTTPClient
import Foundation
import HaulKit
import HaulServer
import NIOHTTP1

/// Follows the events of the daemon until the user leaves or all downloads in `only` have ended.
final class WatchRun {
    private enum Input: Sendable {
        case event(ServerEvent, stream: Int)
        case lost(stream: Int)
        case key(Key)
        case tick, redraw, interrupt
    }

    private let client: DaemonClient
    private let isJSON: Bool
    private let isQuiet: Bool
    private let input: AsyncStream<Input>
    private let put: AsyncStream<Input>.Continuation
    private var stream = WatchStream()
    private var model: WatchModel
    private var ends: WatchedEnds
    /// The screen; `nil` where lines are printed instead.
    private var screen: WatchScreen?
    /// The last printed state of each download.
    private var states: [String: String] = [:]

    private var isScreen: Bool { screen != nil }

    init(_ client: DaemonClient, only: [DownloadID]?, isJSON: Bool, isQuiet: Bool) {
        self.client = client
        self.isJSON = isJSON
        self.isQuiet = isQuiet
        ends = WatchedEnds(only: only)
        model = WatchModel(only: only.map { Set($0.map(\.description)) })
        screen = FullScreen.isPossible && !isJSON && !isQuiet ? WatchScreen() : nil
        (input, put) = AsyncStream.makeStream(of: Input.self, bufferingPolicy: .bufferingNewest(10_000))
    }

    /// - Returns: the status of the first download in `only` that did not complete; ``ExitStatus/interrupted`` after a
    ///   signal, or if the user leaves before all downloads in `only` have ended.
    func run() async throws -> ExitStatus {
        let put = put
        Interruption.stop { put.yield(.interrupt) }
        let ticks = Task {
            // `sleep` throws only when the view is closed.
            while (try? await Task.sleep(for: .milliseconds(200))) != nil { put.yield(.tick) }
        }
        defer { ticks.cancel() }
        if isScreen {
            Interruption.handle(SIGTSTP) {
                FullScreen.suspend()
                put.yield(.redraw)
            }
            FullScreen.enter()
            Key.read { put.yield(.key($0)) }
        }
        defer {
            if isScreen { FullScreen.leaveAtOnce() }
            stream.close()
        }
        open()
        for await input in input {
            guard let status = try await take(input) else { continue }
            if isScreen { FullScreen.leaveAtOnce() }
            summarize()
            return status
        }
        return .complete
    }

    /// Prints the states of the downloads in `only` after the screen is closed, and a note if some have not ended.
    private func summarize() {
        guard let only = ends.only, !isJSON else { return }
        if isScreen {
            for row in only.compactMap(model.row) {
                Output.result("\(row.id.short)  \(DownloadTable.state(row))  \(DownloadTable.name(row))")
            }
        }
        if !isQuiet, !only.allSatisfy(ends.hasEnded) {
            Output.note("The daemon goes on with the downloads.")
        }
    }

    private func take(_ input: Input) async throws -> ExitStatus? {
        switch input {
        case .event(let event, let number):
            guard stream.isCurrent(number) else { return nil }
            stream.noteHeard()
            if event.name == "hello" {
                stream.noteAnswer()
                screen?.setAway(false)
            }
            return try await take(event)
        case .lost(let number):
            guard stream.isCurrent(number) else { return nil }
            try lost()
        case .key(let key): return await take(key)
        case .tick:
            if stream.isDue { open() }
            if stream.isSilent { try lost() }
            screen?.clearOldMessage()
            // Ends the command when the reader of the standard output has exited (`head`, for example). A failed write
            // may show this only hours later, with the next line.
            if ends.only == nil, Output.hasLostReader { return .complete }
            draw()
        case .redraw:
            screen?.markCleared()
            draw()
        case .interrupt:
            // ``Interruption`` ends the process at a second signal.
            return .interrupted
        }
        return nil
    }

    // MARK: Events

    private func open() {
        model.restart()
        let (client, put) = (client, put)
        stream.open { number in
            Task {
                do {
                    var reader = ServerEventReader()
                    for try await buffer in try await client.events() {
                        for event in try reader.events(buffer) { put.yield(.event(event, stream: number)) }
                    }
                } catch {
                    // Drops the error, because the view treats all ends of a stream alike.
                }
                put.yield(.lost(stream: number))
            }
        }
    }

    private func lost() throws {
        if !stream.isAway, !isScreen, !isQuiet { Output.note("The daemon does not answer. Waiting for it.") }
        stream.lose()
        screen?.setAway(true)
        // With a screen, goes on waiting, because the user sees that the daemon is away.
        guard isScreen || !stream.isAwayTooLong else {
            throw Complaint("The daemon does not answer any longer.", .otherFailure)
        }
    }

    private func take(_ event: ServerEvent) async throws -> ExitStatus? {
        switch try model.take(event) {
        case .nothing: break
        case .readAgain: stream.markOutdated()
        case .ended: try lost()
        }
        if event.name == "snapshot", model.isWhole { try await readMissing() }
        for id in model.changed { report(id) }
        for id in model.removed where !ends.hasEnded(id) {
            if !isScreen, !isJSON, !isQuiet { Output.result("\(id.suffix(8))  removed") }
            // Skips downloads that have ended, because a snapshot has only the newest of the complete ones.
            ends.noteRemoval(of: id)
        }
        return ends.status
    }

    /// Requests the downloads in `only` that a snapshot does not have, because they ended long ago or were removed.
    private func readMissing() async throws {
        for id in ends.only ?? [] where !ends.hasEnded(id) && model.state(id) == nil {
            do {
                let row: DownloadRow = try await client.value(.GET, "/api/v1/downloads/\(id)")
                model.take(row)
                report(id)
            } catch let complaint as Complaint where complaint.problemCode == "notFound" { ends.noteRemoval(of: id) }
        }
    }

    private func report(_ id: String) {
        guard let row = model.row(id) else { return }
        ends.note(row, of: id)
        guard !isScreen else { return }
        let state = row.state.rawValue
        let hasChanged = states.updateValue(state, forKey: id) != state
        if isJSON {
            JSONLine.print(row, hasChanged ? .end : .progress(of: id), of: id)
        } else if hasChanged {
            if row.state == .failed, let error = row.error {
                Output.error("\(DownloadTable.name(row)): \(error.message)")
            }
            if !isQuiet { Output.result("\(row.id.short)  \(DownloadTable.state(row))  \(DownloadTable.name(row))") }
        }
    }

    // MARK: Keys

    private func take(_ key: Key) async -> ExitStatus? {
        if let id = screen?.takeQuestion() {
            if key == .character("y") { await act("remove", id) }
            draw()
            return nil
        }
        switch key {
        case .character("q"): return ends.only == nil ? .complete : .interrupted
        case .character(" "):
            guard let id = screen?.chosen, let state = model.state(id) else { break }
            await act(["paused", "failed"].contains(state) ? "resume" : "pause", id)
        case .character("p"): if let id = screen?.chosen { await act("pause", id) }
        case .character("r"): if let id = screen?.chosen { await act("resume", id) }
        case .character("d"):
            guard let id = screen?.chosen, let row = model.row(id) else { break }
            screen?.ask(
                "Remove \(DownloadTable.name(row))? A complete file stays. y: remove, other keys: keep",
                about: id
            )
        default: screen?.move(key, model.order)
        }
        draw()
        return nil
    }

    private func act(_ action: String, _ id: String) async {
        do {
            if action == "remove" {
                try await client.send(.DELETE, "/api/v1/downloads/\(id)")
            } else {
                try await client.send(.POST, "/api/v1/downloads/\(id)/\(action)")
            }
        } catch {
            screen?.show(message: (error as? Complaint)?.sentence ?? "\(error)")
        }
    }

    private func draw() { screen?.draw(model) }
}
