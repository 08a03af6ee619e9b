import Foundation
import NIOCore

@testable import HaulCore
@testable import HaulKit

/// A server of one file, or of the playlist of one film, that lies by chance until it becomes honest.
///
/// `@unchecked Sendable` for the same reason as `World`.
final class LifeSite: @unchecked Sendable {
    /// The validators with which the site names the versions of its file.
    enum Naming: CaseIterable {
        case strongTag, strongTagAndDate, strongDate, weakTag, weakDate, none
        /// An invalid entity tag, beside an unchanging date that would be strong without the tag.
        case malformedTag

        /// Whether a change of the file always changes the validator, by RFC 9110 §8.8.1.
        var isStrong: Bool {
            switch self {
            case .strongTag, .strongTagAndDate, .strongDate: true
            case .weakTag, .weakDate, .none, .malformedTag: false
            }
        }
    }
    /// The violation of the grammar of RFC 9110 §8.8.3 in a tag.
    enum Malformation: CaseIterable { case noQuotes, smallW, space, otherQuotes, twoFields, list }
    /// The version fields of partial answers, whether they are lies or not.
    enum PartNaming { case full, omitted, weakened }
    enum Framing: CaseIterable { case length, chunked, close }
    enum Rhythm: CaseIterable { case even, crumbs, bursts, atOnce }

    struct Version {
        var bytes: [UInt8]
        /// The number of the version's validator. Two versions of a site with a weak validator may share a number.
        var name: Int
    }

    let world: World
    let number: Int
    let url: URL
    let naming: Naming
    private let malformation: Malformation
    /// The number in the site's tags. A mirror has the number of its first server.
    private let tagNumber: Int
    /// The film whose playlist is at `url`; `nil` for a file.
    let film: LifeFilm?
    /// The `Link` fields that name mirrors.
    var links: [(String, String)] = []
    let partNaming: PartNaming
    let framing: Framing
    let rhythm: Rhythm
    /// All versions so far; the last one is the present one. Those of a film are the segments one behind another.
    private(set) var versions: [Version] = []
    /// Bodies that ended early without a sign of it. A client cannot tell them from complete versions.
    private(set) var cutBodies: [[UInt8]] = []
    /// One answer in `lies` is a lie; 0 for none.
    var lies: Int
    /// Whether the site supports ranges, in true answers and lies.
    let hasRanges: Bool
    let hasConditions: Bool
    /// Whether a digest proves the first version.
    var isProved = false
    /// The number of the answer before which the file changes; 0 for no change.
    var changesAt = 0
    /// Whether the site now always answers truthfully.
    var isHonest = false
    private(set) var answers = 0
    /// Whether two versions have long ranges in common.
    private let agrees: Bool

    init(_ world: World, number: Int, name: String, isClean: Bool, isSmall: Bool) {
        self.world = world
        self.number = number
        url = URL(string: "http://server.test/\(number)/\(name)") ?? URL(fileURLWithPath: "/")
        let namings = Naming.allCases
        naming = isClean ? .strongTag : namings[world.chance(namings.count)]
        framing = isClean || world.chance(3) > 0 ? .length : Framing.allCases[world.chance(3)]
        rhythm = Rhythm.allCases[world.chance(4)]
        lies = isClean ? 0 : [2, 3, 5, 9][world.chance(4)]
        partNaming = isClean || world.chance(3) > 0 ? .full : world.once(in: 2) ? .omitted : .weakened
        hasRanges = isClean || world.chance(8) > 0
        hasConditions = isClean || world.chance(4) > 0
        malformation = Malformation.allCases[world.chance(Malformation.allCases.count)]
        tagNumber = number
        agrees = naming.isStrong && world.chance(4) > 0
        film = nil
        if !isClean, world.once(in: 2) { changesAt = world.chance(2...4) }
        let size =
            isSmall
            ? world.chance(0...9000) : world.once(in: 4) ? world.chance(0...70_000) : world.chance(60_000...260_000)
        versions = [Version(bytes: Self.bytes(size, seed: world.random.next()), name: 0)]
    }

    /// A mirror of `site` on another host, with the same validators: with the same bytes, or with others of the same
    /// length.
    init(mirroring site: LifeSite, number: Int, hasSameBytes: Bool) {
        world = site.world
        self.number = number
        url = URL(string: "http://mirror.test/\(number)/\(site.url.lastPathComponent)") ?? site.url
        (naming, malformation, tagNumber) = (site.naming, site.malformation, site.tagNumber)
        (partNaming, framing, rhythm, lies) = (site.partNaming, site.framing, site.rhythm, site.lies)
        (hasRanges, hasConditions, agrees, film) = (site.hasRanges, site.hasConditions, false, nil)
        var bytes = site.current.bytes
        if !hasSameBytes { bytes.disguise(0..<bytes.count, by: 0x55) }
        versions = [Version(bytes: bytes, name: 0)]
    }

    /// A film. Its playlist has no validator.
    init(filmIn world: World, number: Int, name: String, isClean: Bool) {
        self.world = world
        self.number = number
        url = URL(string: "http://server.test/\(number)/\(name).m3u8") ?? URL(fileURLWithPath: "/")
        (naming, malformation, tagNumber, partNaming) = (.none, .noQuotes, number, .full)
        (hasConditions, agrees) = (false, false)
        framing = isClean || world.chance(3) > 0 ? .length : Framing.allCases[world.chance(3)]
        rhythm = Rhythm.allCases[world.chance(4)]
        lies = isClean ? 0 : [3, 5, 9, 30][world.chance(4)]
        hasRanges = isClean || world.chance(8) > 0
        let film = LifeFilm(world, number: number, isClean: isClean)
        self.film = film
        if !isClean, world.once(in: 2) { changesAt = world.chance(2...20) }
        versions = [Version(bytes: film.current.bytes, name: 0)]
    }

    /// Returns whether the site answers requests for a URL.
    func serves(_ url: URL) -> Bool { self.url == url || film?.has(url) == true }

    /// The name of the file that a download into a folder gets.
    var fileName: String {
        film == nil ? url.lastPathComponent : url.deletingPathExtension().lastPathComponent + ".ts"
    }

    var current: Version { versions[versions.count - 1] }

    // MARK: Versions

    /// Returns `count` pseudo-random bytes for `seed`.
    static func bytes(_ count: Int, seed: UInt64) -> [UInt8] {
        let words = (count + 7) / 8
        return [UInt8](unsafeUninitializedCapacity: words * 8) { buffer, filled in
            var random = SplitMix64(seed: seed)
            let raw = UnsafeMutableRawBufferPointer(buffer)
            for index in 0..<words {
                raw.storeBytes(of: random.next().littleEndian, toByteOffset: index * 8, as: UInt64.self)
            }
            filled = count
        }
    }

    /// Replaces the present version by another one.
    func change() {
        if let film {
            film.change()
            return take(film)
        }
        let old = current.bytes
        var new = old
        if agrees, !old.isEmpty {
            // Changes one range of bytes, and by chance adds bytes or removes some at the end.
            let start = world.chance(old.count)
            let end = min(old.count, start + world.chance(1...max(1, old.count / 2)))
            new.disguise(start..<end, by: 0x55)
            switch world.chance(4) {
            case 0: new += Self.bytes(world.chance(1...5000), seed: world.random.next())
            case 1: new.removeLast(min(new.count, world.chance(1...5000)))
            default: break
            }
        } else {
            let mask = UInt8(world.chance(1...255))
            new.disguise(0..<new.count, by: mask)
            switch world.chance(4) {
            case 0: new += Self.bytes(world.chance(1...5000), seed: world.random.next())
            case 1: new.removeLast(min(new.count, world.chance(1...5000)))
            default: break
            }
        }
        guard !versions.contains(where: { $0.bytes.isSame(as: new) }) else { return }
        let isSameName = !naming.isStrong && world.once(in: 2)
        versions.append(Version(bytes: new, name: current.name + (isSameName ? 0 : 1)))
        world.trace("site \(number) has another version: \(new.count) bytes, name \(current.name)")
    }

    /// Restores the first version, which the digest proves.
    func restore() {
        guard !current.bytes.isSame(as: versions[0].bytes) else { return }
        film?.restore()
        versions.append(Version(bytes: versions[0].bytes, name: current.name + 1))
    }

    private func take(_ film: LifeFilm) {
        versions.append(Version(bytes: film.current.bytes, name: current.name + 1))
        world.trace("site \(number) lists another film: \(film.current.segments.count) segments, name \(current.name)")
    }

    /// Returns whether the bytes are those of a version, or of a body that a client cannot tell from one.
    func had(_ bytes: [UInt8]) -> Bool {
        if isProved { return versions[0].bytes.isSame(as: bytes) }
        return versions.contains { $0.bytes.isSame(as: bytes) } || cutBodies.contains { $0.isSame(as: bytes) }
    }

    /// Returns whether one version has these bytes in all `ranges`.
    func had(_ ranges: [Range<Int64>], of bytes: [UInt8]) -> Bool {
        (versions.map(\.bytes) + cutBodies).contains { version in
            ranges.allSatisfy { version.agrees(with: bytes, in: Int($0.lowerBound)..<Int($0.upperBound)) }
        }
    }

    /// The digest of the first version.
    var digest: DownloadRequest.Checksum? {
        let digest = RunningDigest(.sha256, size: Int64(versions[0].bytes.count))
        digest.update([ByteBuffer(bytes: versions[0].bytes)], at: 0)
        return digest.finish()
    }

    func noteCut(_ body: [UInt8]) { cutBodies.append(body) }

    // MARK: Fields

    /// Returns the version fields: tag and dates.
    func names(_ version: Version) -> [(String, String)] {
        let changed = Self.date(secondsAgo: 3600 - version.name * 60)
        let tag = "\"\(tagNumber)-\(version.name)\""
        return switch naming {
        case .malformedTag:
            malformed("\(tagNumber)-\(version.name)").map { ("ETag", $0) } + [
                ("Last-Modified", Self.date(secondsAgo: 3600)), ("Date", Self.date(secondsAgo: 0)),
            ]
        case .strongTag: [("ETag", tag)]
        case .strongTagAndDate: [("ETag", tag), ("Last-Modified", changed), ("Date", Self.date(secondsAgo: 0))]
        case .strongDate: [("Last-Modified", changed), ("Date", Self.date(secondsAgo: 0))]
        case .weakTag: [("ETag", "W/" + tag)]
        case .weakDate: [("Last-Modified", changed), ("Date", changed)]
        case .none: []
        }
    }

    /// Returns the field values of a malformed tag.
    private func malformed(_ text: String) -> [String] {
        switch malformation {
        case .noQuotes: [text]
        case .smallW: ["w/\"\(text)\""]
        case .space: ["\"v \(text)\""]
        case .otherQuotes: ["'\(text)'"]
        case .twoFields: ["\"\(text)\"", "\"other\""]
        case .list: ["\"\(text)\", \"other\""]
        }
    }

    private static func date(secondsAgo: Int) -> String {
        let seconds = 12 * 3600 - secondsAgo
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "Thu, 01 Jan 2026 \(two(seconds / 3600)):\(two(seconds / 60 % 60)):\(two(seconds % 60)) GMT"
    }

    /// Returns whether a condition holds for the present version, by strong comparison (RFC 9110 §13.1).
    func holds(_ condition: RangeRequest.Condition) -> Bool {
        guard let field = condition.field else { return true }
        return names(current).contains { name, value in
            (name == "ETag" && value == field.value && !value.hasPrefix("W/"))
                || (name == "Last-Modified" && value == field.value && naming != .weakDate)
        }
    }

    func answer(_ request: TransportRequest) -> LifeAnswer {
        answers += 1
        if answers == changesAt, !isHonest { change() }
        let isLie = !isHonest && lies > 0 && world.once(in: lies)
        var answer = film?.answer(request, of: self, isLie: isLie) ?? (isLie ? lie(request) : truth(request))
        if isHonest {
            answer.latency = 1_000_000
            answer.rhythm = [(64 << 10, 1_000_000)]
        } else {
            answer.latency = Int64(world.chance(0...60)) * 1_000_000
            answer.rhythm = pace(answer.body.count)
        }
        world.trace(
            "site \(number) asked for \(film == nil ? "" : request.url.path + " ")\(request.firstByte)-\(request.end.map { "\($0)" } ?? "") \(request.condition): "
                + "\(answer.head.map { "\($0.status) \($0.headers.lines.map { "\($0.name): \($0.value)" })" } ?? "no answer"), "
                + "\(answer.body.count) bytes, then \(answer.failure.map { "\($0.kind)" } ?? "a good end")"
        )
        return answer
    }

    private func pace(_ count: Int) -> [(size: Int, pause: Int64)] {
        let millisecond: Int64 = 1_000_000
        switch rhythm {
        case .even: return [(max(1000, count / 40), 20 * millisecond)]
        case .crumbs:
            return (0..<5).map { _ in (world.chance(200...max(400, count / 15)), Int64(world.chance(60)) * millisecond)
            }
        case .bursts:
            let burst = max(2000, count / 6)
            return [(burst, 500 * millisecond), (burst / 2, 0), (burst, Int64(world.chance(900)) * millisecond)]
        case .atOnce: return [(64 << 10, 0)]
        }
    }
}
