import Foundation

@testable import HaulCore

/// Replays the events of a trace with new machines.
enum TraceReplay {
    struct Result {
        var steps = 0
        /// A description of the first step whose actions differ from the trace; `nil` if none differs.
        var difference: String?
    }

    static func run(_ lines: [TraceLine]) -> Result {
        var machines: [DownloadID: DownloadMachine] = [:]
        var result = Result()
        for (index, line) in lines.enumerated() {
            if let initial = line.machine { machines[line.id] = DownloadMachine(initial) }
            guard let step = line.step else { continue }
            result.steps += 1
            let before = machines[line.id]?.state
            let actions = machines[line.id]?.handle(step.event, at: step.at, in: step.surroundings) ?? []
            guard actions != step.actions else { continue }
            // The first line of the file is the header, and lines count from 1.
            result.difference = """
                line \(index + 2): in \(before.map { "\($0)" } ?? "no state")
                event: \(step.event)
                recorded: \(step.actions)
                replayed: \(actions)
                """
            return result
        }
        return result
    }

    static func run(contentsOf path: String) throws -> Result {
        run(try TraceReader.lines(try Data(contentsOf: URL(fileURLWithPath: path))))
    }
}
