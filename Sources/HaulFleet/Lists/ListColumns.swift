/// Maps the columns of CSV and TSV to fields by the names in the first line.
struct ListColumns {
    private enum Meaning {
        case known(RawItem.Field)
        /// A column whose value becomes a member of the metadata. The text is the encoded name with a colon: `"name":`.
        case other(String)
    }

    private let meanings: [Meaning]

    /// - Throws: an error that ends the list, because the rest cannot be read without the names.
    init(_ row: DelimitedRow, _ line: Int) throws(LineError) {
        var meanings: [Meaning] = []
        var seen: Set<String> = []
        for (index, field) in row.fields.enumerated() {
            let name: String
            do throws(LineError) { name = try text(field.trimmed, line) } catch {
                throw LineError(line, "names the columns, but \(error.text)", endsList: true)
            }
            let known = RawItem.Field(rawValue: name.lowercased())
            guard !name.isEmpty else { throw LineError(line, "names no column \(index + 1)", endsList: true) }
            guard seen.insert(known?.rawValue ?? name).inserted else {
                throw LineError(line, "names column \(index + 1) like one before it", endsList: true)
            }
            meanings.append(known.map { .known($0) } ?? .other(JSONText.quoted(name) + ":"))
        }
        guard seen.contains(RawItem.Field.url.rawValue) else {
            throw LineError(line, "must name the columns, and names none \"url\"", endsList: true)
        }
        self.meanings = meanings
    }

    func item(_ row: DelimitedRow, _ line: Int) throws(LineError) -> RawItem {
        guard row.fields.count == meanings.count else {
            throw LineError(line, "has \(row.fields.count) columns where the first line names \(meanings.count)")
        }
        var item = RawItem()
        for (field, meaning) in zip(row.fields, meanings) where !field.isEmpty {
            let value = try text(field, line)
            switch meaning {
            case .known(.url): item.url = value
            case .known(.path): item.path = value
            case .known(.key): item.key = value
            case .known(.checksum): item.checksum = value
            case .known(.metadata): item.metadata = value
            case .known(.mirrors): item.mirrors = RawItem.mirrors(value)
            case .known(.validator): item.validator = value
            case .known(.size): item.size = try RawItem.number(field.trimmed, line, .size)
            case .known(.priority): item.priority = try RawItem.number(field.trimmed, line, .priority)
            case .other(let prefix): item.others.append(prefix + JSONText.quoted(value))
            }
        }
        return item
    }
}
