import Foundation
import HaulKit

/// The lines of `--input-file`, without comments and empty lines.
struct InputList {
    struct Line: Sendable, Hashable {
        /// Counted from 1, as editors do.
        let number: Int
        let text: String
    }

    /// Maximum size of the list in bytes, enough for some millions of URLs.
    private static let mostBytes = 512 << 20
    /// Maximum length of a line in bytes, longer than any URL that a server accepts. A file that is no list, such as a
    /// device or an image, has longer lines.
    private static let longestLine = 8 << 20

    let path: String
    let lines: [Line]

    /// - Parameter path: `-` for standard input.
    init(path: String) throws {
        let limits = OptionFile.Limits(bytes: Self.mostBytes, line: Self.longestLine)
        let data = path == "-" ? try OptionFile.standardInput(limits) : try OptionFile.contents(path, limits)
        self.init(path: path, data)
    }

    init(path: String, _ data: Data) {
        self.path = path
        // Splits bytes, not characters, because a list may have 100,000 lines.
        let (newline, returned, space, tab) = (
            UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: " "), UInt8(ascii: "\t")
        )
        var lines: [Line] = []
        var number = 0
        let mark = Data([0xEF, 0xBB, 0xBF])
        let bytes = [UInt8](data.starts(with: mark) ? data.dropFirst(mark.count) : data)
        for line in bytes.split(separator: newline, omittingEmptySubsequences: false) {
            number += 1
            for part in line.split(separator: returned) {
                let front = part.drop { $0 == space || $0 == tab }
                guard let first = front.first, first != UInt8(ascii: "#"),
                    let last = front.lastIndex(where: { $0 != space && $0 != tab })
                else { continue }
                lines.append(Line(number: number, text: SpelledURL.text(front[...last])))
            }
        }
        self.lines = lines
    }

    /// Returns `FILE:LINE`.
    func place(_ number: Int) -> String { "\(path == "-" ? "standard input" : path):\(number)" }
}
