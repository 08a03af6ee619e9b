/// A character encoding of names in header fields and of Metalinks: UTF-8, ASCII, the ISO-8859 and Windows-125x
/// families, and encodings of Japanese and Korean.
package struct Charset: Sendable, Hashable {
    private enum Form: Sendable, Hashable {
        case utf8, ascii
        /// A table for the upper bytes, ASCII for the others.
        case table(String)
        case eastAsian(EastAsianCharset)
    }
    private let form: Form

    package static let utf8 = Charset(form: .utf8)
    static let windows1252 = Charset(form: .table("windows-1252"))

    private init(form: Form) { self.form = form }

    /// - Parameter label: as servers write it, in any letter case, also `utf8`, `latin1` and `cp1252`. ISO-8859-1 is
    ///   read as Windows-1252 and ISO-8859-9 as Windows-1254, as browsers do
    ///   (https://encoding.spec.whatwg.org/#names-and-labels).
    /// - Returns: `nil` for an encoding that Haul does not know.
    package init?(label: String) {
        let name = label.lowercased().filter { !$0.isWhitespace }
        switch name {
        case "utf-8", "utf8", "unicode-1-1-utf-8": form = .utf8
        case "us-ascii", "ascii", "iso646-us", "ansi_x3.4-1968": form = .ascii
        case "euc-jp", "eucjp", "x-euc-jp", "cseucpkdfmtjapanese": form = .eastAsian(.eucJP)
        case "shift_jis", "shift-jis", "shiftjis", "sjis", "x-sjis", "ms_kanji", "csshiftjis", "ms932", "cp932",
            "windows-31j":
            form = .eastAsian(.shiftJIS)
        case "euc-kr", "euckr", "cseuckr", "korean", "ks_c_5601-1987", "ks_c_5601-1989", "ksc5601", "ksc_5601",
            "csksc56011987", "iso-ir-149", "windows-949", "cp949", "ms949", "uhc":
            form = .eastAsian(.eucKR)
        default:
            guard let table = Self.table(name), CharsetTables.upperHalf(table) != nil else { return nil }
            form = .table(table)
        }
    }

    private static func table(_ name: String) -> String? {
        if let latin = latins[name] { return latin }
        for prefix in ["windows-", "windows", "cp-", "cp", "x-cp"] where name.hasPrefix(prefix) {
            return number(name, after: prefix).map { "windows-\($0)" }
        }
        for prefix in ["iso-8859-", "iso8859-", "iso_8859-", "iso8859_", "8859-", "iso8859"]
        where name.hasPrefix(prefix) {
            switch number(name, after: prefix) {
            case 1: return "windows-1252"
            case 9: return "windows-1254"
            case 11: return "windows-874"
            case let part?: return "iso-8859-\(part)"
            case nil: return nil
            }
        }
        return nil
    }

    private static func number(_ name: String, after prefix: String) -> Int? {
        // A year may follow: `ISO_8859-1:1987`.
        let digits = name.dropFirst(prefix.count).prefix { $0 != ":" }
        return digits.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(digits) : nil
    }

    private static let latins = [
        "latin1": "windows-1252", "latin-1": "windows-1252", "l1": "windows-1252", "ansi": "windows-1252",
        "latin2": "iso-8859-2", "latin-2": "iso-8859-2", "l2": "iso-8859-2",
        "latin3": "iso-8859-3", "l3": "iso-8859-3", "latin4": "iso-8859-4", "l4": "iso-8859-4",
        "latin5": "windows-1254", "l5": "windows-1254", "latin6": "iso-8859-10", "l6": "iso-8859-10",
        "latin7": "iso-8859-13", "latin8": "iso-8859-14", "latin9": "iso-8859-15", "latin-9": "iso-8859-15",
        "l9": "iso-8859-15", "latin10": "iso-8859-16", "cyrillic": "iso-8859-5", "greek": "iso-8859-7",
        "arabic": "iso-8859-6", "hebrew": "iso-8859-8",
    ]

    /// - Returns: `nil` if the bytes are not valid in this encoding.
    package func text(_ bytes: some Collection<UInt8>) -> String? {
        switch form {
        case .utf8: return String(validating: bytes, as: UTF8.self)
        case .ascii: return bytes.allSatisfy { $0 < 0x80 } ? String(decoding: bytes, as: UTF8.self) : nil
        case .table(let name):
            guard let table = CharsetTables.upperHalf(name) else { return nil }
            let first = 0x100 - table.count
            var text = String.UnicodeScalarView()
            for byte in bytes {
                let scalar =
                    Int(byte) < first ? Unicode.Scalar(byte) : Unicode.Scalar(table[Int(byte) - first]) ?? "\u{FFFD}"
                guard scalar != "\u{FFFD}" else { return nil }
                text.append(scalar)
            }
            return String(text)
        case .eastAsian(let charset): return charset.text(bytes)
        }
    }
}
