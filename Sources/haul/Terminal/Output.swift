import Foundation
import HaulKit

/// Results go to standard output, everything else to standard error. No call waits for the reader, except ``finish()``.
enum Output {
    static func result(_ line: String, _ importance: OutputQueue.Importance = .end, of id: String? = nil) {
        writers.output.put(line + "\n", to: STDOUT_FILENO, importance, of: id)
    }
    /// Writes unchanged text to standard output or standard error.
    static func put(_ text: String, to descriptor: Int32, _ importance: OutputQueue.Importance = .end) {
        (descriptor == STDOUT_FILENO ? writers.output : writers.error).put(text, to: descriptor, importance)
    }
    static func error(_ sentence: String) { write("haul: \(shown(sentence))\n") }
    static func note(_ line: String, _ importance: OutputQueue.Importance = .end) {
        write(shown(line) + "\n", importance)
    }
    /// Returns a message as one line, without the secrets of URLs in it. A misread argument may put a URL into a
    /// message.
    static func shown(_ sentence: String) -> String {
        VisibleText.line(URL.maskedText(sentence, knowing: nil))
    }

    /// Writes unchanged text to standard error.
    static func write(_ text: String, _ importance: OutputQueue.Importance = .end) {
        writers.error.put(text, to: STDERR_FILENO, importance)
    }

    /// Whether text for standard error still waits to be written.
    static var isBehind: Bool { writers.error.isBehind }

    /// Whether standard output is a pipe or a socket whose reader has ended.
    static var hasLostReader: Bool {
        var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return poll(&output, 1, 0) > 0 && output.revents & Int16(POLLERR | POLLHUP) != 0
    }

    /// Whether the file of standard output lacks lines that could not be written.
    static var isIncomplete: Bool { writers.output.hasFailed(STDOUT_FILENO) }

    /// Waits until the readers have taken everything. After a signal, waits at most two seconds; the rest is lost.
    ///
    /// - Returns: `false` if output was lost because of a signal.
    @discardableResult
    static func finish() -> Bool {
        var deadline: ContinuousClock.Instant?
        let isEnough = {
            guard Interruption.hasHappened else { return false }
            deadline = deadline ?? .now + patience
            return deadline.map { .now >= $0 } ?? false
        }
        var isAll = writers.output.finish(unless: isEnough)
        let lost = writers.output.lost(STDOUT_FILENO)
        if lost > 0, !writers.output.isLeft(STDOUT_FILENO) {
            error(
                lost == 1
                    ? "A line of standard output could not be written."
                    : "\(lost) lines of standard output could not be written."
            )
        }
        isAll = writers.error.finish(unless: isEnough) && isAll
        return isAll
    }

    /// Time to wait for readers after a signal.
    private static let patience = Duration.seconds(2)

    /// Two writers, so that neither reader waits for the other. One writer if both streams are the same file, so that
    /// lines do not mix.
    private static let writers: (output: OutputWriter, error: OutputWriter) = {
        let output = OutputWriter()
        return (output, isSame(STDOUT_FILENO, STDERR_FILENO) ? output : OutputWriter())
    }()

    private static func isSame(_ one: Int32, _ other: Int32) -> Bool {
        var (first, second) = (stat(), stat())
        guard fstat(one, &first) == 0, fstat(other, &second) == 0 else { return false }
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }
}
