/// Parses the items of a list from bytes, without input or output.
struct ListParser {
    private let format: ListFormat
    private let name: String
    private let invalidLines: InvalidLines?
    private let rule: PathRule
    private var records: RecordBuffer
    private var columns: ListColumns?
    private var row = DelimitedRow()

    init(
        format: ListFormat,
        name: String,
        invalidLines: InvalidLines? = nil,
        rule: PathRule = .any,
        limit: Int = ListReader.longestRecord
    ) {
        (self.format, self.name, self.invalidLines, self.rule) = (format, name, invalidLines, rule)
        records = RecordBuffer(quotes: format == .csv, limit: limit)
    }

    var isComplete: Bool { records.isComplete }

    mutating func append(_ bytes: [UInt8]) { records.append(bytes) }
    mutating func finish() { records.finish() }

    /// Returns `nil` if more bytes are needed, and at the end.
    mutating func next() throws(FleetError) -> NewItem? {
        while true {
            do throws(LineError) {
                guard let record = try records.next() else { return nil }
                if let item = try item(record) { return item }
            } catch {
                let message = "\(name), line \(error.line) \(error.text)."
                guard let invalidLines, !error.endsList else { throw FleetError(.invalidInput, message) }
                invalidLines.append(message)
            }
        }
    }

    /// Returns `nil` for an empty line, a comment and the line of column names.
    private mutating func item(_ record: RecordBuffer.Record) throws(LineError) -> NewItem? {
        let line = record.line
        let bytes = records.bytes[record.range]
        guard !bytes.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) || isRow(bytes) else {
            return nil
        }
        switch format {
        case .text:
            let trimmed = bytes.trimmed
            guard !trimmed.isEmpty, trimmed.first != UInt8(ascii: "#") else { return nil }
            var item = RawItem()
            item.url = try text(trimmed, line)
            return try item.checked(line)
        case .jsonLines:
            return try JSONRecord.item(bytes, line).checked(line, rule)
        case .csv, .tsv:
            if format == .csv { try row.readCSV(bytes, line) } else { try row.readTSV(bytes, line) }
            guard let columns else {
                self.columns = try ListColumns(row, line)
                return nil
            }
            return try columns.item(row, line).checked(line, rule)
        }
    }

    /// In TSV, a line of tabs is a row of empty columns.
    private func isRow(_ bytes: ArraySlice<UInt8>) -> Bool { format == .tsv && !bytes.isEmpty }
}

/// Decodes a text of a list. Throws unless the text is UTF-8 without NUL, because PostgreSQL stores no NUL in a text.
func text(_ bytes: ArraySlice<UInt8>, _ line: Int) throws(LineError) -> String {
    let text: String? = bytes.withUnsafeBufferPointer { String(validating: $0, as: UTF8.self) }
    guard let text else { throw LineError(line, "is not UTF-8") }
    guard !bytes.contains(0) else { throw LineError(line, "has a NUL character") }
    return text
}

extension ArraySlice<UInt8> {
    /// The slice without blanks and carriage returns at both ends.
    var trimmed: ArraySlice<UInt8> {
        var rest = self
        while let byte = rest.first, byte == 0x20 || byte == 0x09 || byte == 0x0D { rest.removeFirst() }
        while let byte = rest.last, byte == 0x20 || byte == 0x09 || byte == 0x0D { rest.removeLast() }
        return rest
    }
}
