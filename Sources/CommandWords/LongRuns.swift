/// Folds long runs of positional arguments, because the parser's time grows with the square of the number of arguments.
///
/// A word belongs to a run if neither it nor the word before it begins with a hyphen. Such a word cannot be the value
/// of an option, because every option takes at most one value.
package struct LongRuns: Sendable, Equatable {
    /// The arguments, with a mark in place of each long run.
    package private(set) var arguments: [String] = []
    private var runs: [String: ArraySlice<String>] = [:]

    /// Longest run that stays unfolded.
    private static let short = 64

    /// - Parameter words: the arguments that follow the name of a subcommand.
    package init(_ words: [String]) {
        var start = words.startIndex
        while start < words.endIndex {
            let isInRun = !words[start].hasPrefix("-") && (start == 0 || !words[start - 1].hasPrefix("-"))
            let end = isInRun ? words[start...].firstIndex { $0.hasPrefix("-") } ?? words.endIndex : start + 1
            if end - start > Self.short {
                // An argument of a process cannot contain a NUL, so the mark is unique.
                let mark = "\0\(runs.count)"
                runs[mark] = words[start..<end]
                arguments.append(mark)
            } else {
                arguments += words[start..<end]
            }
            start = end
        }
    }

    /// Returns the parsed positional arguments, with each run in place of its mark.
    package func unfolded(_ parsed: [String]) -> [String] {
        runs.isEmpty ? parsed : parsed.flatMap { runs[$0] ?? [$0] }
    }
}
