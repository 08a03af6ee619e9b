/// How a list is written.
package enum ListFormat: String, Sendable, Hashable, CaseIterable {
    /// A URL a line; empty lines and those that begin with `#` do not count.
    case text
    /// RFC 4180, with a line of column names.
    case csv
    /// Columns that tabs separate, without quoting, with a line of column names.
    case tsv
    /// A JSON object a line.
    case jsonLines = "jsonl"

    /// The format by the ending of a file name; text where it says nothing.
    package init(path: String) {
        let name = path.lowercased()
        self =
            if name.hasSuffix(".csv") {
                .csv
            } else if name.hasSuffix(".tsv") || name.hasSuffix(".tab") {
                .tsv
            } else if name.hasSuffix(".jsonl") || name.hasSuffix(".ndjson") || name.hasSuffix(".json") {
                .jsonLines
            } else {
                .text
            }
    }
}
