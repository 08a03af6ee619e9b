/// The file format of a list of items to download.
package enum ListFormat: String, Sendable, Hashable, CaseIterable {
    /// One URL per line. Empty lines and lines that begin with `#` are ignored.
    case text
    /// CSV (RFC 4180) with a line of column names.
    case csv
    /// Columns separated by tabs, without quoting, with a line of column names.
    case tsv
    /// One JSON object per line.
    case jsonLines = "jsonl"

    /// Chooses the format by the file name extension, before that of a compressed file; `text` if the extension is
    /// unknown.
    package init(path: String) {
        var name = path.lowercased()
        for ending in [".gz", ".zst"] where name.hasSuffix(ending) { name.removeLast(ending.count) }
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
