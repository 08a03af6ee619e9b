@testable import HaulKit

/// A partial file that knows of every byte which version of the remote file it came from.
struct ShadowFile: Equatable {

    private struct Run: Equatable {
        var version: Int
        var end: Int64
    }

    /// The version of bytes that nobody can vouch for: written, and lost before they were synced.
    static let garbage = -1

    private var runs: [Run] = []
    /// What the engine's `PartFile` would say.
    private(set) var mark = Mark.zero

    var size: Int64 { runs.last?.end ?? 0 }

    /// Continues at the mark; what lay behind it is overwritten.
    mutating func append(_ count: Int64, of version: Int) {
        guard count > 0 else { return }
        cut(to: mark.written)
        mark.written += count
        if runs.last?.version == version {
            runs[runs.count - 1].end = mark.written
        } else {
            runs.append(Run(version: version, end: mark.written))
        }
    }

    mutating func startOver() {
        runs = []
        mark = .zero
    }

    mutating func sync() { mark.synced = mark.written }

    /// The power went, or a sync failed: what was not synced is anything now.
    mutating func loseUnsynced() {
        let end = size
        cut(to: mark.synced)
        if end > mark.synced { runs.append(Run(version: Self.garbage, end: end)) }
        mark.written = mark.synced
    }

    /// Opened anew with what the store claims.
    mutating func reopen(_ claim: Mark) { mark = claim }

    func versions(from lower: Int64, to upper: Int64) -> Set<Int> {
        var found: Set<Int> = []
        var start: Int64 = 0
        for run in runs {
            if start < upper, run.end > lower { found.insert(run.version) }
            start = run.end
        }
        return found
    }

    private mutating func cut(to length: Int64) {
        while let last = runs.popLast() {
            let start = runs.last?.end ?? 0
            if last.end <= length {
                runs.append(last)
                return
            }
            if start < length {
                runs.append(Run(version: last.version, end: length))
                return
            }
        }
    }
}
