/// A Japanese or Korean encoding with one or two bytes per character, decoded as browsers do
/// (https://encoding.spec.whatwg.org).
///
/// The three-byte characters of EUC-JP (JIS X 0212) are left out: few names have one, and their table would take 18 KB
/// more.
enum EastAsianCharset: Sendable, Hashable {
    case eucJP
    case shiftJIS
    /// Windows code page 949: EUC-KR and the syllables that EUC-KR lacks.
    case eucKR

    /// - Returns: `nil` if the bytes are not valid in this encoding.
    func text(_ bytes: some Collection<UInt8>) -> String? {
        var text = String.UnicodeScalarView()
        var rest = bytes.makeIterator()
        while let byte = rest.next() {
            guard let scalar = byte < 0x80 ? Unicode.Scalar(byte) : scalar(byte, &rest) else { return nil }
            text.append(scalar)
        }
        return String(text)
    }

    /// - Parameter rest: the bytes behind the first byte of the character.
    private func scalar(_ first: UInt8, _ rest: inout some IteratorProtocol<UInt8>) -> Unicode.Scalar? {
        switch self {
        case .eucJP:
            guard let second = rest.next() else { return nil }
            if first == 0x8E { return Self.katakana(second) }
            return Self.jis.scalar(row: Int(first) - 0xA1, cell: Int(second) - 0xA1)
        case .shiftJIS:
            if let katakana = Self.katakana(first) { return katakana }
            guard (0x81...0x9F).contains(first) || (0xE0...0xFC).contains(first), let second = rest.next(),
                (0x40...0x7E).contains(second) || (0x80...0xFC).contains(second)
            else { return nil }
            // Each first byte has two rows.
            let lead = Int(first) - (first < 0xA0 ? 0x81 : 0xC1)
            let trail = Int(second) - (second < 0x7F ? 0x40 : 0x41)
            return Self.jis.scalar(row: lead * 2 + trail / 94, cell: trail % 94)
        case .eucKR:
            guard (0x81...0xFE).contains(first), let second = rest.next() else { return nil }
            if first >= 0xA1, second >= 0xA1 {
                return Self.ks.scalar(row: Int(first) - 0xA1, cell: Int(second) - 0xA1)
            }
            return Self.addedSyllable(first, second)
        }
    }

    /// Returns the half-width katakana that a byte stands for in JIS X 0201; `nil` for any other byte.
    private static func katakana(_ byte: UInt8) -> Unicode.Scalar? {
        (0xA1...0xDF).contains(byte) ? Unicode.Scalar(0xFEC0 + UInt32(byte)) : nil
    }

    /// Returns a syllable that KS X 1001 lacks. These syllables fill the space around the rows of KS X 1001: 178 for
    /// each first byte up to 0xA0, then 84.
    private static func addedSyllable(_ first: UInt8, _ second: UInt8) -> Unicode.Scalar? {
        let place: Int
        switch second {
        case 0x41...0x5A: place = Int(second) - 0x41
        case 0x61...0x7A: place = Int(second) - 0x61 + 26
        case 0x81...0xFE: place = Int(second) - 0x81 + 52
        default: return nil
        }
        let row = Int(first) - 0x81
        let index = row < 32 ? row * 178 + place : 32 * 178 + (row - 32) * 84 + place
        return index < addedSyllables.count ? Unicode.Scalar(addedSyllables[index]) : nil
    }

    private static let addedSyllables: [UInt16] = {
        let known = Set(ks.rows.joined())
        return (0xAC00...0xD7A3).filter { !known.contains($0) }
    }()

    private static let jis = Table(JISTable.rows)
    private static let ks = Table(KSTable.rows)

    /// Rows of up to 94 characters.
    private struct Table {
        let rows: [[UInt16]]

        init(_ text: String) {
            rows = text.split(separator: "\n", omittingEmptySubsequences: false).map { Array($0.utf16) }
        }

        /// Returns the character at `row` and `cell`, which count from 0.
        func scalar(row: Int, cell: Int) -> Unicode.Scalar? {
            guard rows.indices.contains(row), rows[row].indices.contains(cell), rows[row][cell] != 0xFFFD else {
                return nil
            }
            return Unicode.Scalar(rows[row][cell])
        }
    }
}
