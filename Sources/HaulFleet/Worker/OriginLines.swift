internal import Foundation
internal import HaulKit

/// A file with lines of an origin and what holds for it. Empty lines and lines that begin with `#` count for nothing.
struct OriginLines {
    let origins: [(origin: Origin, value: String, line: Int)]

    /// - Parameters:
    ///   - file: the file's name, for messages.
    ///   - example: a right line, for messages. Messages have no value of a line.
    /// - Throws: ``FleetError/Code/invalidInput`` for a line without an origin or without a value.
    init(_ text: String, of file: String, example: String) throws(FleetError) {
        var origins: [(origin: Origin, value: String, line: Int)] = []
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") { continue }
            let parts = line.split(separator: " ", maxSplits: 1)
            guard let url = HTTPURL(String(parts[0]))?.url, url.path.isEmpty || url.path == "/", url.query == nil,
                url.user == nil, parts.count == 2
            else { throw Self.fault(number + 1, of: file, example: example) }
            origins.append((Origin(url), parts[1].trimmingCharacters(in: .whitespaces), number + 1))
        }
        self.origins = origins
    }

    static func fault(_ line: Int, of file: String, example: String) -> FleetError {
        FleetError(.invalidInput, "Line \(line) of \(file) is not an origin and what holds for it, such as \(example)")
    }
}
