import Foundation
import HaulFleet
import HaulKit

/// Shows a worker's totals: an updated line on a terminal, otherwise one line per minute.
struct ProgressDisplay {
    private let worker: FleetWorker

    init(_ worker: FleetWorker) { self.worker = worker }

    /// Runs until the task is cancelled.
    func run() async {
        var last = WorkerProgress()
        let interval: Duration = FleetOutput.isTerminal ? .seconds(1) : .seconds(60)
        while true {
            do { try await Task.sleep(for: interval) } catch { break }
            let progress = worker.progress
            if FleetOutput.isTerminal {
                FleetOutput.progress(Self.line(progress))
            } else if progress != last {
                FleetOutput.note(Self.line(progress))
            }
            last = progress
        }
        if FleetOutput.isTerminal { FleetOutput.progress("") }
    }

    static func line(_ progress: WorkerProgress) -> String {
        var parts = ["\(progress.completed) completed (\(QuantityText.bytes(progress.bytes)))"]
        if progress.failed > 0 { parts.append("\(progress.failed) failed") }
        if progress.retried > 0 { parts.append("\(progress.retried) failed attempts") }
        if progress.held > 0 { parts.append("\(progress.held) held") }
        return parts.joined(separator: ", ")
    }
}
