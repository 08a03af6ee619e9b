internal import Foundation

/// A tar archive (POSIX ustar) with the names of WebDataset: each item has its file, `NUMBER.ENDING`, and `NUMBER.json`
/// with what the queue knows of it.
///
/// The number of the item is the name, so names are unique, short and safe whatever the list contains.
struct TarFormat: ShardFormat {
    let date: Date

    var opening: [UInt8] { [] }
    var closing: [UInt8] { [UInt8](repeating: 0, count: 2 * Self.block) }

    private static let block = 512

    func head(of file: StagedFile) -> [UInt8] {
        header(Self.name(file, ending: Self.ending(of: file.path)), file.bytes)
    }

    func tail(of file: StagedFile) -> [UInt8] {
        let description = file.description
        return Self.padding(file.bytes) + header(Self.name(file, ending: "json"), Int64(description.count))
            + description
            + Self.padding(Int64(description.count))
    }

    private static func name(_ file: StagedFile, ending: String) -> String {
        let digits = String(file.key.item)
        return String(repeating: "0", count: max(0, 12 - digits.count)) + digits + "." + ending
    }

    /// Returns the ending of a path in small letters; `bin` if it has none of up to ten letters and digits. A file that
    /// ends with `json` gets `data.json`, because `json` is the description.
    static func ending(of path: String) -> String {
        let name = path.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return "bin" }
        let ending = name[name.index(after: dot)...].lowercased()
        guard (1...10).contains(ending.utf8.count), ending.utf8.allSatisfy(\.isLetterOrDigit) else { return "bin" }
        return ending == "json" ? "data.json" : ending
    }

    private static func padding(_ bytes: Int64) -> [UInt8] {
        [UInt8](repeating: 0, count: Int((Int64(block) - bytes % Int64(block)) % Int64(block)))
    }

    private func header(_ name: String, _ bytes: Int64) -> [UInt8] {
        var header = [UInt8](repeating: 0, count: Self.block)
        func put(_ text: String, at offset: Int) {
            for (index, byte) in text.utf8.enumerated() { header[offset + index] = byte }
        }
        func put(octal value: Int64, at offset: Int, digits: Int) {
            let text = String(value, radix: 8)
            put(String(repeating: "0", count: max(0, digits - text.utf8.count)) + text, at: offset)
        }
        put(name, at: 0)
        put(octal: 0o644, at: 100, digits: 7)
        put(octal: 0, at: 108, digits: 7)
        put(octal: 0, at: 116, digits: 7)
        if bytes < 1 << 33 {
            put(octal: bytes, at: 124, digits: 11)
        } else {
            // A size of 8 GiB and more in base 256, which GNU tar, libarchive and Python read.
            header[124] = 0x80
            for index in 0..<8 { header[128 + index] = UInt8(truncatingIfNeeded: bytes >> Int64(8 * (7 - index))) }
        }
        put(octal: max(0, Int64(date.timeIntervalSince1970)), at: 136, digits: 11)
        put("        ", at: 148)
        put("0", at: 156)
        put("ustar", at: 257)
        put("00", at: 263)
        let sum = header.reduce(0) { $0 + Int64($1) }
        put(octal: sum, at: 148, digits: 6)
        header[154] = 0
        return header
    }
}

extension UInt8 {
    fileprivate var isLetterOrDigit: Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
    }
}
