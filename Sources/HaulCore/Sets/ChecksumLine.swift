/// One line of a checksum list: a name and a digest.
struct ChecksumLine {
    struct Digest: Hashable {
        /// The algorithm that the line names, in upper case without dashes; `nil` if the line names none.
        let algorithm: String?
        let bytes: [UInt8]

        /// - Parameter knowsAlgorithms: whether the length tells the algorithm of a line that names none.
        /// - Returns: `nil` if the algorithm is unknown or Haul cannot compute it.
        func checksum(knowsAlgorithms: Bool) -> DownloadRequest.Checksum? {
            let known = algorithm.map { Self.algorithms[$0] } ?? (knowsAlgorithms ? Self.byLength[bytes.count] : nil)
            return known.flatMap { DownloadRequest.Checksum($0, digest: bytes) }
        }

        /// Algorithms by their names in lines, in upper case without dashes.
        fileprivate static let algorithms: [String: DownloadRequest.Checksum.Algorithm] = [
            "MD5": .md5, "SHA1": .sha1, "SHA256": .sha256, "SHA2256": .sha256, "SHA512": .sha512, "SHA2512": .sha512,
        ]

        private static let byLength: [Int: DownloadRequest.Checksum.Algorithm] = [
            16: .md5, 20: .sha1, 32: .sha256, 64: .sha512,
        ]
    }

    /// Stands for a digest with an impossible length or impossible digits in a line with a name.
    private static let damaged = Digest(algorithm: "", bytes: [])

    /// The bytes of the name, without a leading `./`.
    let name: [UInt8]
    /// Whether the name has an invalid escape.
    let isMalformed: Bool
    let digest: Digest
    /// Whether the line has no name, or the name `-` of standard input.
    var isBare: Bool { name.isEmpty || name == [UInt8(ascii: "-")] }

    init(name: [UInt8], digest: Digest, isMalformed: Bool = false) {
        self.name = name
        self.digest = digest
        self.isMalformed = isMalformed
    }

    /// - Parameter line: without its line end.
    /// - Returns: `nil` if the line has none of the forms that ``plain(_:)`` and ``tagged(_:)`` read. Both accept some
    ///   damaged digests in lines with a name.
    init?(_ line: ArraySlice<UInt8>) {
        var rest = line
        // A backslash in front says that the name is escaped.
        let isEscaped = rest.first == UInt8(ascii: "\\")
        if isEscaped { rest = rest.dropFirst() }
        guard let (raw, digest) = Self.tagged(rest) ?? Self.plain(rest) else { return nil }
        let name = isEscaped ? Self.unescaped(raw) : Array(raw)
        self.init(name: Self.withoutDotFolder(name ?? Array(raw)), digest: digest, isMalformed: name == nil)
    }

    private static let shortestDigest = 16

    /// Reads `HEX  NAME`, `HEX *NAME`, or `HEX` alone.
    private static func plain(_ line: ArraySlice<UInt8>) -> (ArraySlice<UInt8>, Digest)? {
        let digits = line.prefix { $0.hexadecimalValue != nil }
        guard digits.count >= shortestDigest * 2 else { return nil }
        let digest = bytes(digits).map { Digest(algorithm: nil, bytes: $0) }
        var name = line[digits.endIndex...]
        if name.allSatisfy(isBlank) { return digest.map { ([], $0) } }
        guard let blank = name.popFirst(), isBlank(blank) else { return nil }
        // The second character says whether the file was read as text or as binary; some programs leave it out.
        if name.first == UInt8(ascii: " ") || name.first == UInt8(ascii: "*") { name = name.dropFirst() }
        return name.isEmpty ? nil : (name, digest ?? damaged)
    }

    /// Reads `SHA256 (NAME) = HEX`, also without the blanks, as OpenSSL writes it.
    private static func tagged(_ line: ArraySlice<UInt8>) -> (ArraySlice<UInt8>, Digest)? {
        guard let open = line.firstIndex(of: UInt8(ascii: "(")), let close = line.lastIndex(of: UInt8(ascii: ")")),
            open < close
        else { return nil }
        var algorithm = line[..<open]
        if algorithm.last == UInt8(ascii: " ") { algorithm = algorithm.dropLast() }
        guard (1...32).contains(algorithm.count), algorithm.allSatisfy(isPartOfAlgorithm) else { return nil }
        let after = line[(close + 1)...].drop(while: isBlank)
        guard after.first == UInt8(ascii: "=") else { return nil }
        let end = after.dropFirst().drop(while: isBlank)
        let digits = end.prefix { !isBlank($0) }
        let name = String(decoding: algorithm, as: UTF8.self).uppercased()
        let known = name.split(separator: "-", omittingEmptySubsequences: false).joined()
        guard end[digits.endIndex...].allSatisfy(isBlank), let bytes = bytes(digits) else {
            // A text such as `Size (a) = 5` is no line of a list.
            return Digest.algorithms[known] == nil ? nil : (line[(open + 1)..<close], damaged)
        }
        return (line[(open + 1)..<close], Digest(algorithm: known, bytes: bytes))
    }

    private static func isPartOfAlgorithm(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "/"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func bytes(_ digits: ArraySlice<UInt8>) -> [UInt8]? {
        guard digits.count >= shortestDigest * 2 else { return nil }
        return DownloadRequest.Checksum.bytes(hex: digits)
    }

    /// - Returns: `nil` for a backslash that begins none of the three escapes.
    private static func unescaped(_ name: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = name
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "\\"): bytes.append(UInt8(ascii: "\\"))
            case UInt8(ascii: "n"): bytes.append(0x0A)
            case UInt8(ascii: "r"): bytes.append(0x0D)
            default: return nil
            }
        }
        return bytes
    }

    private static func withoutDotFolder(_ name: [UInt8]) -> [UInt8] {
        var rest = name[...]
        while rest.starts(with: "./".utf8), rest.count > 2 { rest = rest.dropFirst(2) }
        return Array(rest)
    }
}
