/// The fields of a line of CSV or TSV. A parser reads all lines into one row, so that the row's memory is reused.
struct DelimitedRow {
    /// Maximum number of fields; no plausible list has more.
    static let mostFields = 1000

    private(set) var fields: [ArraySlice<UInt8>] = []

    mutating func readTSV(_ bytes: ArraySlice<UInt8>, _ line: Int) throws(LineError) {
        fields.removeAll(keepingCapacity: true)
        var start = bytes.startIndex
        while let tab = bytes[start...].firstIndex(of: UInt8(ascii: "\t")) {
            try append(bytes[start..<tab], line)
            start = tab + 1
        }
        try append(bytes[start...], line)
    }

    mutating func readCSV(_ bytes: ArraySlice<UInt8>, _ line: Int) throws(LineError) {
        fields.removeAll(keepingCapacity: true)
        var start = bytes.startIndex
        while true {
            if start < bytes.endIndex, bytes[start] == UInt8(ascii: "\"") {
                start = try quoted(bytes, start, line)
            } else {
                let end = bytes[start...].firstIndex(of: UInt8(ascii: ",")) ?? bytes.endIndex
                let field = bytes[start..<end]
                guard !field.contains(UInt8(ascii: "\"")) else {
                    throw LineError(line, "has a quote inside a field that is not quoted (column \(fields.count + 1))")
                }
                try append(field, line)
                start = end
            }
            guard start < bytes.endIndex else { return }
            // Skips the comma. An empty field follows a comma at the end.
            start += 1
        }
    }

    /// Appends the quoted field that begins at `open`. Returns the index after the closing quote: the index of a comma,
    /// or the end index.
    private mutating func quoted(_ bytes: ArraySlice<UInt8>, _ open: Int, _ line: Int) throws(LineError) -> Int {
        let quote = UInt8(ascii: "\"")
        var start = open + 1
        var joined: ArraySlice<UInt8>?
        while let close = bytes[start...].firstIndex(of: quote) {
            let piece = bytes[start..<close]
            let next = close + 1
            if next < bytes.endIndex, bytes[next] == quote {
                // Two quotes stand for one.
                joined = (joined ?? []) + piece + [quote]
                start = next + 1
                continue
            }
            guard next == bytes.endIndex || bytes[next] == UInt8(ascii: ",") else {
                throw LineError(line, "has text behind a closing quote (column \(fields.count + 1))")
            }
            try append(joined.map { $0 + piece } ?? piece, line)
            return next
        }
        throw LineError(line, "opens a quote that is not closed")
    }

    private mutating func append(_ field: ArraySlice<UInt8>, _ line: Int) throws(LineError) {
        guard fields.count < Self.mostFields else { throw LineError(line, "has more than \(Self.mostFields) columns") }
        fields.append(field)
    }
}
