import Foundation
import HaulKit
import OrderedCollections
import Synchronization

/// A live display at the bottom of the terminal: a line for each running file, then a total. Finished files scroll up.
final class TerminalDisplay: Display, Suspension.Participant {
    private struct State {
        var snapshots: [DownloadID: DownloadSnapshot] = [:]
        /// The downloads that have not ended.
        var order: OrderedSet<DownloadID> = []
        var ended = ProgressLine.Ended()
        var expected = 0
        var started: [DownloadID: (at: ContinuousClock.Instant, bytes: Int64)] = [:]
        /// Cells of each line that is on the screen now.
        var drawn: [Int] = []
        var isClosed = false
        /// Whether the process is about to be stopped.
        var isSuspended = false
    }
    let advice: ErrorAdvice
    private let isVerbose: Bool
    private let state = Mutex(State())
    private let timer = Mutex<Task<Void, Never>?>(nil)

    /// - Parameter isVerbose: whether to show the parts of each file and its connections.
    init(_ advice: ErrorAdvice, isVerbose: Bool) {
        self.advice = advice
        self.isVerbose = isVerbose
        Terminal.hideCursor()
        let task = Task { [weak self] in
            // `sleep` throws only when the display is closed.
            while (try? await Task.sleep(for: .milliseconds(200))) != nil { self?.draw(above: nil) }
        }
        timer.withLock { $0 = task }
        Suspension.follow(self)
    }

    func suspend() {
        state.withLock { state in
            guard !state.isClosed else { return }
            Output.write(Self.erase(state.drawn, columns: Terminal.size.columns))
            (state.drawn, state.isSuspended) = ([], true)
        }
    }

    func resume() {
        let isOpen = state.withLock { state in
            // If another signal stopped the process, the screen was not cleared. The old lines stay there.
            if !state.isSuspended { state.drawn = [] }
            state.isSuspended = false
            return !state.isClosed
        }
        guard isOpen else { return }
        if Terminal.isOurs { Terminal.hideCursor() }
        draw(above: nil)
    }

    func added(_ snapshot: DownloadSnapshot) {
        state.withLock { state in
            state.order.append(snapshot.id)
            state.snapshots[snapshot.id] = snapshot
        }
    }

    func expects(_ count: Int) { state.withLock { $0.expected = count } }

    func changed(_ snapshot: DownloadSnapshot) {
        state.withLock { state in
            state.snapshots[snapshot.id] = snapshot
            if snapshot.state == .transferring, state.started[snapshot.id] == nil {
                state.started[snapshot.id] = (.now, snapshot.receivedBytes)
            }
        }
    }

    func progressed(_ snapshot: DownloadSnapshot) {
        state.withLock { state in
            if state.snapshots[snapshot.id] != nil { state.snapshots[snapshot.id] = snapshot }
        }
    }

    func ended(_ snapshot: DownloadSnapshot, _ outcome: DownloadOutcome) {
        let start = state.withLock { state in
            state.snapshots[snapshot.id] = nil
            state.order.remove(snapshot.id)
            state.ended.add(snapshot)
            return state.started.removeValue(forKey: snapshot.id)
        }
        switch outcome {
        case .completed(let completed):
            draw(above: Format.completed(completed, since: start?.at, from: start?.bytes ?? 0))
            if isatty(STDOUT_FILENO) == 0 { Output.result(completed.path) }
        case .failed(let error) where error.code == .shutDown: break
        case .failed(let error): draw(above: "haul: \(snapshot.url.messageText): \(advice.text(error))")
        case .cancelled: break
        }
    }

    func refused(_ url: String, _ error: DownloadError, at place: String?) {
        draw(above: "haul: \(place.map { $0 + ": " } ?? "")\(URL.cut(url)): \(advice.text(error))")
    }

    func unreadable(_ line: Wanted.Unreadable) { draw(above: "haul: \(line.place): \(line.text): \(line.reason)") }

    func noted(_ text: String) { draw(above: text) }

    func close() {
        timer.withLock { $0?.cancel() }
        let wasOpen = state.withLock { state in
            defer { state.isClosed = true }
            if state.isClosed { return false }
            Output.write(Self.erase(state.drawn, columns: Terminal.size.columns))
            state.drawn = []
            return true
        }
        if wasOpen { Terminal.restore() }
    }

    private func draw(above text: String?) {
        state.withLock { state in
            // While the terminal is behind, only lasting lines are written. The display is drawn again when the
            // terminal has caught up.
            let isBehind = Output.isBehind
            guard !state.isClosed, text != nil || !isBehind && !state.isSuspended else { return }
            let (columns, rows) = Terminal.size
            var screen = Self.erase(state.drawn, columns: columns)
            if let text { screen += VisibleText.line(text) + "\n" }
            let lines = isBehind || state.isSuspended ? [] : lines(state, columns: columns - 1, rows: rows)
            screen += lines.map { $0 + "\n" }.joined()
            state.drawn = lines.map(Format.width)
            Output.write(screen)
        }
    }

    private func lines(_ state: State, columns: Int, rows: Int) -> [String] {
        let all = state.order.compactMap { state.snapshots[$0] }
        var running = all.filter { $0.state.isActive || Format.held($0) != nil }
        let most = max(1, rows - 3)
        // Lists files that wait for a retry last. They may be many, and must not hide files that are active.
        if running.count > most {
            running = running.filter { $0.state != .waiting } + running.filter { $0.state == .waiting }
        }
        var lines = running.prefix(most).map { ProgressLine.of($0, columns: columns) }
        if isVerbose {
            lines = Array(
                running.flatMap { [ProgressLine.of($0, columns: columns)] + SegmentMap.lines($0, columns: columns) }
                    .prefix(most)
            )
        }
        if running.count > most { lines.append(Format.fit("and \(running.count - most) more", columns)) }
        if max(state.expected, all.count + state.ended.count) > 1, !all.isEmpty {
            lines.append(
                ProgressLine.total(
                    all,
                    finished: state.ended.count,
                    ended: state.ended,
                    expected: state.expected,
                    columns: columns
                )
            )
        }
        return lines
    }

    /// Goes back to the first drawn line and clears from there. After the window became narrower, a line takes more
    /// rows than when it was drawn.
    private static func erase(_ drawn: [Int], columns: Int) -> String {
        guard !drawn.isEmpty else { return "" }
        let rows = drawn.reduce(0) { $0 + max(1, ($1 + columns - 1) / max(columns, 1)) }
        return "\u{1B}[\(rows)A\r\u{1B}[J"
    }
}
