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
    private let isScreen: Bool
    private var model: WatchModel
    private var view = WatchView()
    /// The downloads to wait for, in the order of the command; `nil` for none.
    private let only: [String]?
    private var ended: [String: ExitStatus] = [:]
    private let input: AsyncStream<Input>
    private let put: AsyncStream<Input>.Continuation
    private var stream: (number: Int, task: Task<Void, Never>)?
    private var lastHeard = ContinuousClock.now
    private var lastOpened: ContinuousClock.Instant?
    private var awaySince: ContinuousClock.Instant?
    private var isOutdated = false
    private var drawn = ""
    private var messageEnd = ContinuousClock.now
    private var question: String?
    private var states: [String: String] = [:]

    /// Silence after which a stream counts as lost. The daemon sends something each 15 seconds.
    private static let silence = Duration.seconds(40)
    /// Time to wait for a daemon that is away. Applies without a screen, where nobody sees the message.
    private static let patience = Duration.seconds(60)

    init(_ client: DaemonClient, only: [DownloadID]?, isJSON: Bool, isQuiet: Bool) {
        self.client = client
        self.isJSON = isJSON
        self.isQuiet = isQuiet
        self.only = only?.map(\.description)
        model = WatchModel(only: only.map { Set($0.map(\.description)) })
        isScreen = FullScreen.isPossible && !isJSON && !isQuiet
        (input, put) = AsyncStream.makeStream(of: Input.self, bufferingPolicy: .bufferingNewest(10_000))
    }

    /// - Returns: the status of the first download in `only` that did not complete.
    func run() async throws -> ExitStatus {
        let put = put
        Interruption.stop { put.yield(.interrupt) }
        let ticks = Task {
            // Sleeping fails only when the view is closed.
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
            stream?.task.cancel()
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
        guard let only, !isJSON else { return }
        if isScreen {
            for row in only.compactMap(model.row) {
                Output.result("\(row.id.short)  \(DownloadTable.state(row))  \(DownloadTable.name(row))")
            }
        }
        if !isQuiet, only.contains(where: { ended[$0] == nil }) {
            Output.note("The daemon goes on with the downloads.")
        }
    }

    private func take(_ input: Input) async throws -> ExitStatus? {
        switch input {
        case .event(let event, let number):
            guard number == stream?.number else { return nil }
            lastHeard = .now
            if event.name == "hello" { (awaySince, view.isAway) = (nil, false) }
            return try await take(event)
        case .lost(let number):
            guard number == stream?.number else { return nil }
            try lost()
        case .key(let key): return await take(key)
        case .tick:
            if stream == nil, lastOpened.map({ .now - $0 > .seconds(1) }) ?? true { open() }
            if isOutdated, lastOpened.map({ .now - $0 > .milliseconds(500) }) ?? true { open() }
            if lastHeard + Self.silence < .now { try lost() }
            if question == nil, view.message != nil, messageEnd < .now { view.message = nil }
            // Ends if the reader has ended, as `head` does. For hours there may be no line to print that would show it.
            if only == nil, Output.hasLostReader { return .complete }
            draw()
        case .redraw:
            drawn = ""
            draw()
        case .interrupt:
            // ``Interruption`` ends the process at a second signal.
            return .interrupted
        }
        return nil
    }

    // MARK: Events

    private func open() {
        stream?.task.cancel()
        isOutdated = false
        lastOpened = .now
        lastHeard = .now
        model.restart()
        let number = (stream?.number ?? nextNumber) + 1
        nextNumber = number
        let (client, put) = (client, put)
        let task = Task {
            do {
                var reader = ServerEventReader()
                for try await buffer in try await client.events() {
                    for event in try reader.events(buffer) { put.yield(.event(event, stream: number)) }
                }
            } catch {
                // The view treats all ends of a stream alike.
            }
            put.yield(.lost(stream: number))
        }
        stream = (number, task)
    }

    private var nextNumber = 0

    private func lost() throws {
        stream?.task.cancel()
        stream = nil
        lastHeard = .now
        let since = awaySince ?? .now
        if awaySince == nil, !isScreen, !isQuiet { Output.note("The daemon does not answer. Waiting for it.") }
        awaySince = since
        view.isAway = true
        guard isScreen || since + Self.patience > .now else {
            throw Complaint("The daemon does not answer any longer.", .otherFailure)
        }
    }

    private func take(_ event: ServerEvent) async throws -> ExitStatus? {
        switch try model.take(event) {
        case .nothing: break
        case .readAgain: isOutdated = true
        case .ended: try lost()
        }
        if event.name == "snapshot", model.isWhole { try await readMissing() }
        for id in model.changed { report(id) }
        for id in model.removed where ended[id] == nil {
            if !isScreen, !isJSON, !isQuiet { Output.result("\(id.suffix(8))  removed") }
            // Skips downloads that have ended, because a snapshot has only the newest of the complete ones.
            ended[id] = .interrupted
        }
        return status()
    }

    /// Requests the downloads in `only` that a snapshot does not have, because they ended long ago or were removed.
    private func readMissing() async throws {
        for id in only ?? [] where ended[id] == nil && model.state(id) == nil {
            do {
                let row: DownloadRow = try await client.value(.GET, "/api/v1/downloads/\(id)")
                model.take(row)
                report(id)
            } catch let complaint as Complaint where complaint.problemCode == "notFound" { ended[id] = .interrupted }
        }
    }

    private func report(_ id: String) {
        guard let row = model.row(id) else { return }
        switch row.state {
        case .completed: ended[id] = .complete
        case .failed: ended[id] = ExitStatus(problemCode: row.error?.code ?? "")
        default: ended[id] = nil
        }
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

    /// - Returns: `nil` until all downloads in `only` have ended, and always without `only`.
    private func status() -> ExitStatus? {
        guard let only, only.allSatisfy({ ended[$0] != nil }) else { return nil }
        return only.compactMap { ended[$0] }.first { $0 != .complete } ?? .complete
    }

    // MARK: Keys

    private func take(_ key: Key) async -> ExitStatus? {
        if let id = question {
            question = nil
            view.message = nil
            if key == .character("y") { await act("remove", id) }
            draw()
            return nil
        }
        switch key {
        case .character("q"): return only == nil ? .complete : .interrupted
        case .character(" "):
            guard let id = view.id, let state = model.state(id) else { break }
            await act(["paused", "failed"].contains(state) ? "resume" : "pause", id)
        case .character("p"): if let id = view.id { await act("pause", id) }
        case .character("r"): if let id = view.id { await act("resume", id) }
        case .character("d"):
            guard let id = view.id, let row = model.row(id) else { break }
            question = id
            view.message = "Remove \(DownloadTable.name(row))? A complete file stays. y: remove, other keys: keep"
        default: view.move(key, model.order, rows: Terminal.size.rows)
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
            view.message = (error as? Complaint)?.sentence ?? "\(error)"
            messageEnd = .now + .seconds(5)
        }
    }

    private func draw() {
        guard isScreen, FullScreen.isShown, !Output.isBehind else { return }
        let (columns, rows) = Terminal.size
        let lines = view.lines(model, columns: columns, rows: rows)
        // Clears each row before its text. Clearing after the last character of a full row would delete that character.
        let screen = "\u{1B}[H" + lines.map { "\u{1B}[2K" + $0 }.joined(separator: "\n")
        guard screen != drawn else { return }
        drawn = screen
        Output.write(screen)
    }
}
