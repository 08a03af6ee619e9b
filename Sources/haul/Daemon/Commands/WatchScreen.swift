/// The screen of a view: the rows as last drawn, and the line at the bottom, which asks a question or shows a message
/// for 5 seconds.
struct WatchScreen {
    private enum Line {
        case empty
        case question(about: String)
        case message(end: ContinuousClock.Instant)
    }

    private var view = WatchView()
    private var line = Line.empty
    private var drawn = ""

    /// Id of the download that keys act on.
    var chosen: String? { view.id }

    mutating func setAway(_ isAway: Bool) { view.isAway = isAway }

    mutating func move(_ key: Key, _ order: [String]) { view.move(key, order, rows: Terminal.size.rows) }

    // MARK: The line at the bottom

    mutating func ask(_ question: String, about id: String) {
        line = .question(about: id)
        view.message = question
    }

    /// Clears the question.
    ///
    /// - Returns: the download that the question is about; `nil` if there is no question.
    mutating func takeQuestion() -> String? {
        guard case .question(let id) = line else { return nil }
        clear()
        return id
    }

    mutating func show(message: String) {
        line = .message(end: .now + .seconds(5))
        view.message = message
    }

    /// Clears a message whose time is over.
    mutating func clearOldMessage() {
        if case .message(let end) = line, end < .now { clear() }
    }

    private mutating func clear() {
        line = .empty
        view.message = nil
    }

    // MARK: Drawing

    /// Makes the next ``draw(_:)`` write all rows, even if they are the same.
    mutating func markCleared() { drawn = "" }

    mutating func draw(_ model: WatchModel) {
        guard FullScreen.isShown, !Output.isBehind else { return }
        let (columns, rows) = Terminal.size
        let lines = view.lines(model, columns: columns, rows: rows)
        // Clears each row before its text. Clearing after the last character of a full row would delete that character.
        let screen = "\u{1B}[H" + lines.map { "\u{1B}[2K" + $0 }.joined(separator: "\n")
        guard screen != drawn else { return }
        drawn = screen
        Output.write(screen)
    }
}
