internal import Foundation

/// One file of a Metalink document while it is being read.
struct MetalinkFile {
    private typealias Pieces = (algorithm: DownloadRequest.Checksum.Algorithm, length: Int64, digests: [[UInt8]])

    /// Reason why the file is unusable, as a clause for a sentence.
    struct Fault: Error {
        let clause: String
    }

    let name: String
    private var size: Int64?
    /// The invalid statements about the file, at most 8.
    private var faults: [Fault] = []
    private var hasTwoSizes = false
    /// The digest of each algorithm; `nil` for an algorithm with two different ones.
    private var checksums: [DownloadRequest.Checksum.Algorithm: DownloadRequest.Checksum?] = [:]
    /// Every valid list of pieces. ``finished()`` selects one of them, because the size may come last.
    private var lists: [PieceHashes] = []
    /// The list of pieces that is being read. `nil` outside a list and in an ignored or invalid one.
    private var openPieces: Pieces?
    private var hasEmptyPieces = false
    /// Whether something other than a list of pieces is invalid.
    private var hasFaultBesidePieces = false
    private var sources: [Metalink.Source] = []

    init(name: String) { self.name = name }

    mutating func setSize(_ text: String) {
        guard let size = Self.length(text) else { return faultBesidePieces("has a size that is none") }
        guard self.size == nil || self.size == size else {
            hasTwoSizes = true
            return faultBesidePieces("has two sizes")
        }
        self.size = size
    }

    mutating func addHash(type: String?, _ text: String) {
        guard let algorithm = Self.algorithm(type) else { return }
        guard let checksum = Self.checksum(algorithm, text) else {
            return faultBesidePieces("has a digest that is none")
        }
        guard let present = checksums.updateValue(checksum, forKey: algorithm), present != checksum else { return }
        checksums[algorithm] = .some(nil)
        faultBesidePieces("has two digests of one algorithm")
    }

    /// The digest of the strongest algorithm.
    private var checksum: DownloadRequest.Checksum? {
        checksums.values.compactMap(\.self).max { $0.algorithm.digestLength < $1.algorithm.digestLength }
    }

    mutating func beginPieces(type: String?, length: String?) {
        openPieces = nil
        guard let algorithm = Self.algorithm(type) else { return }
        guard let length = length.flatMap(Self.length), length > 0 else {
            return fault("has pieces of a length that is none")
        }
        openPieces = (algorithm, length, [])
    }

    /// - Parameter number: the piece number that the document states, if any.
    mutating func addPiece(_ text: String, number: String?) {
        // Reads `openPieces` in place: a copy would be a second reference, and every append would copy the array.
        guard let algorithm = openPieces?.algorithm, let index = openPieces?.digests.count else { return }
        // One invalid piece invalidates the whole list.
        guard number == nil || number == String(index) else {
            openPieces = nil
            return fault("has pieces in disorder")
        }
        guard let digest = Self.checksum(algorithm, text)?.digest else {
            openPieces = nil
            return fault("has a piece with a digest that is none")
        }
        openPieces?.digests.append(digest)
    }

    mutating func endPieces() {
        defer { openPieces = nil }
        guard let (algorithm, length, digests) = openPieces else { return }
        guard let pieces = PieceHashes(algorithm, pieceLength: length, digests: digests) else {
            hasEmptyPieces = true
            return
        }
        lists.append(pieces)
    }

    /// Returns the file with a clause for each ignored statement. Invalid statements are ignored if the valid ones
    /// prove the whole file.
    func finished() -> Result<(file: Metalink.File, passedOver: [String]), Fault> {
        var file = self
        if hasTwoSizes { file.size = nil }
        let usable = lists.filter { list in file.size.map { list.covers($0) } ?? true }
        let pieces = usable.max { $0.algorithm.digestLength < $1.algorithm.digestLength }
        let lacksPieces = lists.isEmpty && hasEmptyPieces && file.size ?? 0 > 0
        if usable.count < lists.count || lacksPieces { file.fault("has pieces that do not make up its size") }
        // Pieces without a size prove the file if there is no fault, or all faults concern pieces.
        let isProved =
            file.checksum != nil || pieces != nil && (file.size != nil || !file.hasFaultBesidePieces)
        if !isProved, let fault = file.faults.first { return .failure(fault) }
        let best = sortedSources()
        guard !best.isEmpty else { return .failure(described("has no http or https URL")) }
        return .success(
            (
                .init(name: name, size: file.size, checksum: file.checksum, pieces: pieces, sources: best),
                file.faults.map(\.clause)
            )
        )
    }

    mutating func add(_ source: Metalink.Source?) {
        guard let source else { return }
        sources.append(source)
        // Keeps only the best, because a document can hold hundreds of thousands of sources.
        if sources.count >= 8 * Metalink.maximumSources { sources = sortedSources() }
    }

    /// Returns the best sources, each URL once.
    private func sortedSources() -> [Metalink.Source] {
        let sorted = sources.enumerated().sorted { ($0.element.priority, $0.offset) < ($1.element.priority, $1.offset) }
        var seen: Set<String> = []
        let unique = sorted.map(\.element).filter { seen.insert($0.url.absoluteString).inserted }
        return Array(unique.prefix(Metalink.maximumSources))
    }

    private mutating func fault(_ what: String) {
        // Keeps only the first ones, because a document can hold hundreds of thousands of faults.
        if faults.count < 8 { faults.append(described(what)) }
    }

    private mutating func faultBesidePieces(_ what: String) {
        hasFaultBesidePieces = true
        fault(what)
    }

    private func described(_ what: String) -> Fault {
        Fault(clause: "the file \(MetalinkDocument.printable(name)) \(what)")
    }
}

// MARK: - Values

extension MetalinkFile {
    /// Accepts the IANA's spelling `sha-256` and Metalink 3's `sha256`. Returns `nil` for git's algorithm, which no
    /// Metalink has.
    private static func algorithm(_ type: String?) -> DownloadRequest.Checksum.Algorithm? {
        type.flatMap { DownloadRequest.Checksum.Algorithm(rawValue: $0.lowercased().filter { $0 != "-" }) }
            .flatMap { $0 == .gitBlob ? nil : $0 }
    }

    /// Ignores white space among the digits.
    private static func checksum(_ algorithm: DownloadRequest.Checksum.Algorithm, _ text: String) -> DownloadRequest
        .Checksum?
    {
        // Returns `nil` for an unreadable digest. The callers record a fault for it.
        try? DownloadRequest.Checksum("\(algorithm.rawValue):\(withoutBlanks(text))")
    }

    /// Returns a length from 0 to 2^62; `nil` for any other text. The bound prevents overflow in later arithmetic.
    private static func length(_ text: String) -> Int64? {
        let digits = withoutBlanks(text)
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let length = Int64(digits),
            length <= PieceHashes.longestPiece
        else { return nil }
        return length
    }

    private static func withoutBlanks(_ text: String) -> String {
        // Most texts have no blanks, and there may be hundreds of thousands of texts.
        guard text.utf8.contains(where: \.isXMLBlank) else { return text }
        return String(decoding: text.utf8.filter { !$0.isXMLBlank }, as: UTF8.self)
    }
}
