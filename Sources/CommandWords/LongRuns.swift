/// Folds long runs of positional arguments: the argument parser needs time that grows with the square of their number.
///
/// A word belongs to a run if neither it nor the word before it begins with a hyphen: it can be no option's value, since every option
/// takes one value at most.
package struct LongRuns: Sendable, Equatable {
    /// The arguments, with a mark in place of each long run.
    package private(set) var arguments: [String] = []
    private var runs: [String: ArraySlice<String>] = [:]

    /// Runs up to this length stay as they are.
    private static let short = 64

    /// - Parameter words: the arguments of a subcommand, behind its name.
    package init(_ words: [String]) {
        var start = words.startIndex
        while start < words.endIndex {
            let isInRun = !words[start].hasPrefix("-") && (start == 0 || !words[start - 1].hasPrefix("-"))
            let end = isInRun ? words[start...].firstIndex { $0.hasPrefix("-") } ?? words.endIndex : start + 1
            if end - start > Self.short {
                // No argument of a program can hold a NUL.
                let mark = "\0\(runs.count)"
                runs[mark] = words[start..<end]
                arguments.append(mark)
            } else {
                arguments += words[start..<end]
            }
            start = end
        }
    }

    /// The positional arguments that were parsed, with each run in place of its mark.
    package func unfolded(_ parsed: [String]) -> [String] {
        runs.isEmpty ? parsed : parsed.flatMap { runs[$0] ?? [$0] }
    }
}
