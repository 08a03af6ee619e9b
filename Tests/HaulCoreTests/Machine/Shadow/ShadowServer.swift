import Foundation

@testable import HaulCore

/// The servers of a download: one whose file changes, and its mirrors, some of which have another file. They answer
/// ranges well, badly or not at all; see `ShadowServer+Answers`.
struct ShadowServer {
    struct Version: Equatable {
        var number: Int
        var total: Int64
        var tag: String?
        var date: String?
        var coding: String?
        /// The bytes that this version has from earlier versions, by the version that wrote them.
        var inherited: [Int: ByteSet] = [:]

        /// Returns the versions that wrote these bytes.
        func writers(of bytes: ByteSet) -> [Int: ByteSet] {
            var writers = inherited.mapValues { $0.intersection(bytes) }
            writers[number, default: ByteSet()].formUnion(inherited.values.reduce(bytes) { $0.subtracting($1) })
            return writers.filter { !$0.value.isEmpty }
        }
    }

    /// The version fields in 206 answers.
    enum PartNaming: CaseIterable {
        case asTheWhole
        /// A weak form of the tag, and no date.
        case weakened
        case none
    }

    enum Naming: CaseIterable { case strong, weak, none }
    enum Framing: CaseIterable { case length, chunked, close }

    /// The file at another URL.
    enum Mirror: CaseIterable {
        /// The same file under the same tag.
        case faithful
        /// The same file under a tag of its own.
        case renamed
        /// An older file of the same length.
        case stale
        /// A file of another length.
        case otherSize
        /// Wrong bytes of the same length.
        case corrupt
        case gone

        var isHonest: Bool { self == .faithful || self == .renamed }
    }

    let tags: Naming
    let dates: Naming
    let framing: Framing
    /// Whether `Content-Range` has the complete length.
    let saysTotal: Bool
    let doesRanges: Bool
    let announcesDigest: Bool
    let partNaming: PartNaming
    /// Whether the server ignores conditions.
    let ignoresConditions: Bool
    /// Whether a new version keeps its predecessor's validator, if that is weak.
    let keepsWeakNames: Bool
    let mirrors: [Mirror]
    /// The server always refuses more connections than this.
    let mostConnections: Int
    /// Length of the final version.
    let finalTotal: Int64
    /// Percentage of bad answers.
    var badness: Int
    private(set) var versions: [Int: Version] = [:]
    private(set) var current: Version
    /// The URL of the present request.
    var asked = Self.url
    /// Links with this number or a smaller one are refused.
    var revoked = -1

    private static let lengths: [Int64] =
        [0, 1, 17, 1000, 16_384, 16_385, 1_000_000, 1_000_000] + Array(repeating: 100_000, count: 6)
    /// The number of the final version.
    static let finalVersion = 100

    init(_ random: inout SplitMix64) {
        tags = Bool.random(using: &random) ? .strong : Naming.allCases.randomElement(using: &random) ?? .strong
        dates = Naming.allCases.randomElement(using: &random) ?? .strong
        framing = Framing.allCases.randomElement(using: &random) ?? .length
        saysTotal = Int.random(in: 0..<4, using: &random) > 0
        doesRanges = Int.random(in: 0..<6, using: &random) > 0
        announcesDigest = Int.random(in: 0..<4, using: &random) == 0
        partNaming =
            Int.random(in: 0..<3, using: &random) > 0
            ? .asTheWhole : PartNaming.allCases.randomElement(using: &random) ?? .none
        ignoresConditions = Int.random(in: 0..<4, using: &random) == 0
        keepsWeakNames = Bool.random(using: &random)
        mostConnections = Bool.random(using: &random) ? Int.max : Int.random(in: 1...4, using: &random)
        finalTotal = Self.lengths.randomElement(using: &random) ?? 1000
        let mirrorCount = Bool.random(using: &random) ? 0 : Int.random(in: 1...3, using: &random)
        mirrors = (0..<mirrorCount).compactMap { _ in Mirror.allCases.randomElement(using: &random) }
        badness = [0, 10, 30, 60].randomElement(using: &random) ?? 0
        current = Version(number: 0, total: 0)
        change(to: Bool.random(using: &random) ? Self.finalVersion : 1, &random)
    }

    /// The number for bytes that belong to no version.
    static let rubbish = 666

    static func digest(of version: Int) -> DownloadRequest.Checksum {
        // Exactly the 32 bytes of a SHA-256 digest.
        let bytes = (0..<32).map { UInt8(truncatingIfNeeded: $0 < 2 ? version >> (8 * $0) : 7) }
        return DownloadRequest.Checksum(.sha256, digest: bytes) ?? digest(of: 0)
    }

    mutating func change(to number: Int? = nil, _ random: inout SplitMix64) {
        let number = number ?? current.number + 1
        // A change within the same second keeps the date.
        let keepsDate = keepsWeakNames || Int.random(in: 0..<3, using: &random) == 0
        let second = keepsDate && dates != .strong ? (keepsWeakNames ? 0 : current.number) : number
        let keepsLength = Int.random(in: 0..<2, using: &random) == 0 && current.total > 0
        var total = keepsLength ? current.total : Self.lengths.randomElement(using: &random) ?? 1000
        if number == Self.finalVersion { total = finalTotal }
        let before = current
        current =
            versions[number]
            ?? Version(
                number: number,
                total: total,
                tag: tag("v\(number)"),
                date: dates == .none ? nil : Self.date(second * 60)
            )
        if versions[number] == nil, number != Self.finalVersion, before.total == total {
            current.inherited = inherited(from: before, &random)
        }
        versions[number] = current
        // The file behind a wrong link.
        versions[number + Self.wrong] = Version(
            number: number + Self.wrong,
            total: current.total + 11,
            tag: tag("wrong\(number)"),
            date: current.date
        )
        // The same file with a content coding.
        versions[number + 1000] = Version(
            number: number + 1000,
            total: current.total / 2 + 1,
            tag: current.tag,
            date: current.date,
            coding: "gzip"
        )
    }

    /// Returns the bytes that stay unchanged: none, those in one range, or those outside one range.
    private func inherited(from before: Version, _ random: inout SplitMix64) -> [Int: ByteSet] {
        let kind = Int.random(in: 0..<3, using: &random)
        guard before.total > 2, kind > 0 else { return [:] }
        let ends = [0, 0].map { _ in Int64.random(in: 0...before.total, using: &random) }
        let stretch = ByteSet((ends.min() ?? 0)..<(ends.max() ?? 0))
        return before.writers(of: kind == 1 ? stretch : ByteSet(0..<before.total).subtracting(stretch))
    }

    /// Returns whether two versions have the same bytes in these ranges.
    func agree(_ one: Int, _ other: Int, in bytes: ByteSet) -> Bool {
        if one == other { return true }
        guard let one = versions[one], let other = versions[other] else { return false }
        return one.writers(of: bytes) == other.writers(of: bytes)
    }

    func tag(_ name: String) -> String? {
        switch tags {
        case .strong: "\"\(name)\""
        case .weak: keepsWeakNames ? "W/\"\(name.prefix { $0 != "v" && $0 != "-" })\"" : "W/\"\(name)\""
        case .none: nil
        }
    }

    static func date(_ seconds: Int) -> String {
        HTTPDate.format(Date(timeIntervalSince1970: 1_700_000_000 + Double(seconds)))
    }

    // MARK: Sources

    static let url = link("https://files.example/a.iso")
    static func url(ofMirror index: Int) -> URL { link("https://mirror\(index).example/a.iso") }

    func mirror(_ source: Int) -> Mirror? { mirrors.indices.contains(source - 1) ? mirrors[source - 1] : nil }

    /// Returns the present version at a source; `nil` if it has no file.
    func version(at source: Int) -> Version? {
        guard let mirror = mirror(source) else { return versionBehindLink }
        var version = current
        switch mirror {
        case .faithful: break
        case .renamed: version.tag = tag("m\(source)-\(current.number)")
        case .stale: (version.number, version.tag) = (300 + source, tag("old\(source)"))
        case .otherSize:
            (version.number, version.total, version.tag) = (400 + source, current.total + 5, tag("other\(source)"))
        case .corrupt: (version.number, version.tag) = (600 + source, tag("c\(source)-\(current.number)"))
        case .gone: return nil
        }
        return version
    }
}
