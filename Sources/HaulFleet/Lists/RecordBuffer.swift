import Foundation

/// Splits input into records: lines, or in CSV, lines that may contain quoted line ends.
///
/// An incomplete record waits for more bytes. The buffer drops a record that exceeds the limit.
struct RecordBuffer {
    struct Record {
        /// Number of the record's first line, from 1.
        var line: Int
        /// Position in ``RecordBuffer/bytes``, without the line end.
        var range: Range<Int>
    }

    private(set) var bytes: [UInt8] = []
    private let quotes: Bool
    private let limit: Int
    private var position = 0
    private var line = 1
    /// Whether the buffer is skipping the rest of an overlong line.
    private var isSkipping = false
    /// Number of bytes from ``position`` on that contain no line end.
    private var scanned = 0
    private var hasBegun = false
    private(set) var hasEnded = false
    private var unclosedQuotes = 0
    private static let mostUnclosedQuotes = 100

    init(quotes: Bool, limit: Int) {
        (self.quotes, self.limit) = (quotes, limit)
    }

    var isComplete: Bool { hasEnded && position == bytes.count }

    mutating func append(_ more: [UInt8]) {
        if position == bytes.count {
            bytes = more
        } else {
            bytes.removeFirst(position)
            bytes += more
        }
        position = 0
    }

    mutating func finish() { hasEnded = true }

    /// Returns `nil` if more bytes are needed, and at the end.
    mutating func next() throws(LineError) -> Record? {
        if !hasBegun {
            guard bytes.count >= 3 || hasEnded else { return nil }
            hasBegun = true
            if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
            if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
                throw LineError(1, "begins like UTF-16; the list must be UTF-8", endsList: true)
            }
        }
        if isSkipping, !skipRest() { return nil }
        guard position < bytes.count else { return nil }
        let start = position
        guard let end = lineEnd(from: start + scanned) else {
            return try incomplete(start)
        }
        guard end - start <= limit else {
            try tooLong(start)
        }
        guard quotes, bytes[start..<end].contains(UInt8(ascii: "\"")) else { return take(start, end, lines: 1) }
        return try quoted(start)
    }

    private mutating func incomplete(_ start: Int) throws(LineError) -> Record? {
        scanned = bytes.count - start
        guard scanned <= limit else { try tooLong(start) }
        guard hasEnded else { return nil }
        if quotes, bytes[start...].contains(UInt8(ascii: "\"")) { return try quoted(start) }
        return take(start, bytes.count, lines: 1)
    }

    private mutating func tooLong(_ start: Int) throws(LineError) -> Never {
        let number = line
        isSkipping = true
        position = start
        scanned = 0
        throw LineError(number, "is longer than \(limit) bytes")
    }

    /// Skips the rest of an overlong line. Returns `false` if more bytes are needed.
    private mutating func skipRest() -> Bool {
        guard let end = lineEnd(from: position) else {
            position = bytes.count
            // The last line may have no line end.
            if hasEnded { isSkipping = false }
            return hasEnded
        }
        position = min(end + 1, bytes.count)
        line += 1
        isSkipping = false
        return true
    }

    private func lineEnd(from start: Int) -> Int? {
        guard start < bytes.count else { return nil }
        return bytes.withUnsafeBytes { buffer in
            guard let base = buffer.baseAddress, let found = memchr(base + start, 0x0A, buffer.count - start) else {
                return nil
            }
            return UnsafeRawPointer(found) - base
        }
    }

    private mutating func take(_ start: Int, _ end: Int, lines: Int) -> Record {
        let number = line
        line += lines
        position = min(end + 1, bytes.count)
        scanned = 0
        let isCRLF = end > start && bytes[end - 1] == 0x0D
        return Record(line: number, range: start..<(isCRLF ? end - 1 : end))
    }

    /// The position of a byte in a CSV field.
    private enum Place {
        case fieldStart, plain, inQuotes
        /// After a quote inside quotes. The quote is either the closing one or the first of an escaped pair.
        case behindQuote
    }

    /// Reads a CSV record with quotes, which ends at the first line end outside them. Only a quote at the beginning of
    /// a field opens the field, so that a stray quote makes only its own line invalid.
    private mutating func quoted(_ start: Int) throws(LineError) -> Record? {
        var place = Place.fieldStart
        var lines = 1
        var index = start
        while index < bytes.count, index - start <= limit {
            switch (bytes[index], place) {
            case (UInt8(ascii: "\""), .fieldStart), (UInt8(ascii: "\""), .behindQuote): place = .inQuotes
            case (UInt8(ascii: "\""), .inQuotes): place = .behindQuote
            case (0x0A, .inQuotes): lines += 1
            case (0x0A, _): return take(start, index, lines: lines)
            case (_, .inQuotes): break
            case (UInt8(ascii: ","), _): place = .fieldStart
            default: place = .plain
            }
            index += 1
        }
        let isInside = place == .inQuotes
        if index - start > limit || hasEnded && isInside {
            // Continues at the next line, so that one unclosed quote does not make the rest of the list unreadable.
            // Limits the number of unclosed quotes, because each causes a scan of up to `limit` bytes.
            let number = line
            unclosedQuotes += 1
            _ = take(start, lineEnd(from: start) ?? bytes.count, lines: 1)
            throw LineError(
                number,
                "opens a quote that is not closed within \(limit) bytes",
                endsList: unclosedQuotes > Self.mostUnclosedQuotes
            )
        }
        guard hasEnded else {
            scanned = 0
            return nil
        }
        return take(start, bytes.count, lines: lines)
    }
}
