import Foundation

/// Cuts what was read into records: lines, or, in CSV, lines whose line ends are not within quotes.
///
/// Incomplete records wait for more bytes; of one that is too long nothing is kept.
struct RecordBuffer {
    struct Record {
        /// Number of its first line, from 1.
        var line: Int
        /// In ``RecordBuffer/bytes``, without the line end.
        var range: Range<Int>
    }

    private(set) var bytes: [UInt8] = []
    private let quotes: Bool
    private let limit: Int
    private var position = 0
    private var line = 1
    /// The rest of a line that was too long is still to come.
    private var isSkipping = false
    /// What was looked through of the record at ``position`` and has no line end.
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

    /// - Returns: nil where more bytes are needed.
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

    /// - Returns: whether the end of the line was found.
    private mutating func skipRest() -> Bool {
        guard let end = lineEnd(from: position) else {
            position = bytes.count
            // Nothing follows the last line.
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

    /// Where in a field of CSV a byte stands.
    private enum Place {
        case fieldStart, plain, inQuotes
        /// Behind a quote within quotes: the first of two that stand for one, or the closing one.
        case behindQuote
    }

    /// A record of CSV that has quotes: its end is the first line end outside them. Only a quote at the beginning of a field opens
    /// it, so that a stray one costs its own line alone.
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
            // Resumed at the next line, so that a quote too many does not cost the rest of the list.
            // Each costs a look at what follows; a list that is full of them must not stall the reader.
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
