internal import Foundation

/// The digests of a list such as `SHA256SUMS`: the lines that `sha256sum`, `shasum`, `cksum` and BSD's `sha256` write.
///
/// For each name the strongest digest counts. A name is refused if it has no other digests than MD5 and those of
/// algorithms that Haul cannot compute, or if it has two different digests of one algorithm.
package struct ChecksumList: Sendable, Hashable {
    package struct Line: Sendable, Hashable {
        /// The name as the list writes it, without a leading `./`.
        package let name: String
        package let checksum: DownloadRequest.Checksum
    }

    /// In the order of the list; each name once.
    package let lines: [Line]
    /// Names without a usable digest, and names that cannot be read, in the order of the list.
    package let refused: [RefusedName]
    /// Number of lines that do not give a digest for a name. Blank lines and lines that begin with `#` do not count.
    package let unreadLines: Int
    /// Number of ``unreadLines`` that have a damaged digest or a digest without a name. Such a line may belong to a
    /// file of the set.
    package let damagedLines: Int

    /// Largest length of a list, in bytes.
    package static let maximumBytes = 64 << 20
    package static let maximumLines = 1_000_000
    package static let maximumLineBytes = 64 << 10

    /// - Parameter name: the name of the list. If the list has one digest and no names, the digest belongs to the file
    ///   that the list is named after.
    /// - Throws: ``DownloadError/Code/invalidSet`` for a list in which no digest belongs to a name, a list above one of
    ///   the limits, and a list that contains a signature or a key.
    package init(_ bytes: [UInt8], name: String) throws(DownloadError) {
        guard bytes.count <= Self.maximumBytes else {
            throw .invalidSet("it is larger than \(Self.maximumBytes >> 20) MiB")
        }
        var entries = Entries()
        var bare: [ChecksumLine] = []
        var count = 0
        var (unread, damaged) = (0, 0)
        var rest = Self.withoutMark(bytes)
        while !rest.isEmpty {
            count += 1
            guard count <= Self.maximumLines else { throw .invalidSet("it has more than \(Self.maximumLines) lines") }
            let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
            var line = rest[..<end]
            rest = rest[end...].dropFirst()
            guard line.count <= Self.maximumLineBytes else {
                throw .invalidSet("line \(count) is longer than \(Self.maximumLineBytes >> 10) KiB")
            }
            if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
            guard !line.starts(with: "-----BEGIN ".utf8) else {
                throw .invalidSet("line \(count) begins a signature or a key, which a list of digests does not have")
            }
            if line.first == UInt8(ascii: "#") || line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) { continue }
            guard let read = ChecksumLine(line) else {
                unread += 1
                damaged += DamagedDigest.isIn(line) ? 1 : 0
                continue
            }
            if read.isBare { bare.append(read) } else { entries.add(read) }
        }
        // Gives a digest without a name to the file that the list is named after. `certutil` of Windows writes
        // sentences around such a digest.
        if let own = Self.fileName(of: name), entries.isEmpty, bare.count == 1 {
            entries.add(ChecksumLine(name: Array(own.utf8), digest: bare[0].digest))
        } else {
            unread += bare.count
            damaged += bare.count
        }
        guard !entries.isEmpty else { throw .invalidSet("it has no line with a digest and a name") }
        let (lines, refused) = entries.judged(knowsAlgorithms: !Self.isOfAnotherAlgorithm(name))
        self.lines = lines
        self.refused = refused
        unreadLines = unread
        damagedLines = damaged
    }

    /// Whether a text is meant as a list of digests: it has a line with a digest, even a damaged one, or begins as a
    /// signed text or as UTF-16, which shells of Windows write. The name does not show this, because a file that is no
    /// list may have the name of one.
    package static func isMeant(by bytes: [UInt8]) -> Bool {
        if ClearSigned.isOne(bytes) || bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
            return true
        }
        var rest = withoutMark(bytes)
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
            var line = rest[..<end]
            rest = rest[end...].dropFirst()
            if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
            if line.count <= maximumLineBytes, ChecksumLine(line) != nil || DamagedDigest.isIn(line) { return true }
        }
        return false
    }

    /// Returns a text without the byte order mark of UTF-8.
    private static func withoutMark(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
    }

    /// Returns the digest of the line with exactly this name, or else of a line whose name has the same last part.
    ///
    /// - Returns: `nil` if there is no such line, or if several names with this last part have different digests.
    package func checksum(of name: String) -> DownloadRequest.Checksum? {
        if let exact = lines.first(where: { $0.name == name }) { return exact.checksum }
        let last = FilePaths.name(of: name)
        let found = Set(lines.lazy.filter { FilePaths.name(of: $0.name) == last }.map(\.checksum))
        return found.count == 1 ? found.first : nil
    }
}

// MARK: - Names of lists

extension ChecksumList {
    /// Whether a file of this name is a checksum list, such as `SHA256SUMS` or `a.iso.sha256`. A path may precede the
    /// name. Letter case does not count.
    package static func isName(_ name: String) -> Bool {
        var name = FilePaths.name(of: name).lowercased()
        if name.hasSuffix(".txt") {
            name.removeLast(4)
            if name.contains("checksums") || algorithms.contains(where: { name.hasSuffix("-" + $0) }) { return true }
        }
        if ["checksum", "checksums"].contains(name)
            || ["-checksum", "-checksums", "_checksum", "_checksums"].contains(where: name.hasSuffix)
        {
            return true
        }
        // OpenBSD calls its lists `SHA256`.
        return algorithms.contains(name) || suffix(of: name) != nil || algorithms.contains { isListOf($0, name) }
    }

    /// The names of algorithms in names of lists.
    private static let algorithms = ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"]

    private static func isListOf(_ algorithm: String, _ name: String) -> Bool {
        [algorithm + "sum", algorithm + "sums", "shasums" + algorithm.dropFirst(3), "shasums"].contains { list in
            name == list || ["-", "_", "."].contains { name.hasSuffix($0 + list) }
        }
    }

    /// Returns the part of a lower-case name that marks the list of one file, such as `.sha256` or `.sha256sum`.
    private static func suffix(of name: String) -> String? {
        algorithms.lazy.flatMap { [".\($0)", ".\($0)sum", ".\($0)sums"] }
            .first { name.hasSuffix($0) && name.utf8.count > $0.utf8.count }
    }

    /// Returns the name of the only file that a list is called after: `a.iso` for `a.iso.sha256`.
    static func fileName(of list: String) -> String? {
        let name = FilePaths.name(of: list)
        var stem = name[...]
        if stem.lowercased().hasSuffix(".txt") { stem = stem.dropLast(4) }
        // The suffix is ASCII, so it has the same length in the original name. Lower case may change the length of the
        // rest.
        return suffix(of: stem.lowercased()).map { String(stem.dropLast($0.count)) }
    }

    /// Whether the name of a list names an algorithm that Haul would confuse with SHA-2 by the length of its digests.
    private static func isOfAnotherAlgorithm(_ name: String) -> Bool {
        var name = FilePaths.name(of: name).lowercased()
        if name.hasSuffix(".txt") { name.removeLast(4) }
        guard suffix(of: name) == nil, !algorithms.contains(where: { isListOf($0, name) }) else { return false }
        return ["b2sum", "b3sum", "blake", "sha3", "shake", "sm3", "sha512-256", "sha512_256", "sha512-224"].contains {
            name.contains($0)
        }
    }
}

// MARK: - Judgement

extension ChecksumList {
    /// The digests of each name, in the order of the list.
    private struct Entries {
        private struct Entry {
            let name: [UInt8]
            let isMalformed: Bool
            var digests: Set<ChecksumLine.Digest>
        }

        private var entries: [Entry] = []
        /// By the bytes of the names, because `String` treats two normalizations of one text as equal.
        private var indices: [[UInt8]: Int] = [:]

        var isEmpty: Bool { entries.isEmpty }

        mutating func add(_ line: ChecksumLine) {
            if let index = indices[line.name] {
                entries[index].digests.insert(line.digest)
            } else {
                indices[line.name] = entries.count
                entries.append(Entry(name: line.name, isMalformed: line.isMalformed, digests: [line.digest]))
            }
        }

        /// - Parameter knowsAlgorithms: whether the length of a digest without an algorithm tells its algorithm.
        func judged(knowsAlgorithms: Bool) -> (lines: [Line], refused: [RefusedName]) {
            var lines: [Line] = []
            var refused: [RefusedName] = []
            lines.reserveCapacity(entries.count)
            for entry in entries {
                guard !entry.isMalformed, let name = String(validating: entry.name, as: UTF8.self) else {
                    let shown = ChecksumList.escaped(entry.name)
                    refused.append(
                        RefusedName(shown, "The name \(URL.cut(shown)) of the list is not in UTF-8 or wrongly escaped.")
                    )
                    continue
                }
                switch Self.judged(entry.digests, knowsAlgorithms: knowsAlgorithms) {
                case .success(let checksum): lines.append(Line(name: name, checksum: checksum))
                case .failure(let reason):
                    refused.append(RefusedName(name, "The list has \(reason.clause) for \(URL.cut(name))."))
                }
            }
            return (lines, refused)
        }

        private struct Reason: Error {
            let clause: String
        }

        private static func judged(
            _ digests: Set<ChecksumLine.Digest>,
            knowsAlgorithms: Bool
        ) -> Result<DownloadRequest.Checksum, Reason> {
            var known: [DownloadRequest.Checksum.Algorithm: DownloadRequest.Checksum] = [:]
            for digest in digests {
                guard let checksum = digest.checksum(knowsAlgorithms: knowsAlgorithms) else { continue }
                guard known[checksum.algorithm, default: checksum] == checksum else {
                    return .failure(Reason(clause: "two different digests"))
                }
                known[checksum.algorithm] = checksum
            }
            let strongest = [.sha512, .sha256, .sha1].lazy.compactMap {
                (algorithm: DownloadRequest.Checksum.Algorithm) in known[algorithm]
            }.first
            if let strongest { return .success(strongest) }
            return .failure(
                Reason(
                    clause: known.isEmpty ? "no digest that can be computed here" : "MD5 alone, which proves nothing,"
                )
            )
        }
    }

    /// Returns text for people. If the bytes are not UTF-8, each byte above 0x7F becomes `\xNN`.
    private static func escaped(_ bytes: [UInt8]) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        return bytes.map { $0 < 0x80 ? String(Unicode.Scalar($0)) : "\\x" + [$0].hexadecimal }.joined()
    }
}
