package import HaulKit
package import Logging

/// Logs the ends of downloads: one line for each failed or cancelled download, and a summary of ends and holds at
/// intervals. Also logs the first hold in an interval because of a full disk or the quota. An interval without ends and
/// holds gets no summary.
package actor EndLog {
    private let downloader: Downloader
    private let logger: Logger
    private let interval: Duration
    private var tally = EndTally()
    private var timer: Task<Void, Never>?

    package init(_ downloader: Downloader, logger: Logger, interval: Duration = .seconds(60)) {
        (self.downloader, self.logger, self.interval) = (downloader, logger, interval)
    }

    /// Follows the events until the downloader is shut down or the task is cancelled, and logs a last summary.
    package func run() async {
        for await event in downloader.events {
            if let line = tally.line(for: event) { log(line) }
            if !tally.isEmpty { summarizeLater() }
        }
        timer?.cancel()
        summarize()
    }

    private func summarizeLater() {
        guard timer == nil else { return }
        timer = Task {
            do { try await Task.sleep(for: interval) } catch { return }
            summarize()
        }
    }

    private func summarize() {
        timer = nil
        if let line = tally.takeSummary() { log(line) }
    }

    private func log(_ line: EndTally.Line) {
        logger.log(level: line.level, "\(line.message)", metadata: line.metadata)
    }
}
