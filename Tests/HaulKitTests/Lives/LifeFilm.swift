import Crypto
import CryptoExtras
import Foundation

@testable import HaulCore
@testable import HaulKit

/// A media playlist with its segments and keys, in several versions, as a site serves it.
///
/// `@unchecked Sendable` for the same reason as `World`.
final class LifeFilm: @unchecked Sendable {
    struct Segment {
        /// The bytes as they are in the film: packets of a transport stream.
        var bytes: [UInt8]
        var path: String
        /// The range of the file at `path`; `nil` for all of it.
        var range: Range<Int>?
        /// The path of the key; `nil` for a plain segment.
        var key: String?

        var place: Place { Place(path: path, first: range?.lowerBound ?? 0) }
    }
    /// The address of a segment's bytes.
    struct Place: Hashable {
        var path: String
        var first: Int
    }
    struct Version {
        /// Number of the first segment.
        var first: Int
        var segments: [Segment]
        var bytes: [UInt8] { segments.flatMap(\.bytes) }

        /// Returns the segment with a number; `nil` if there is none.
        func segment(_ number: Int) -> Segment? {
            segments.indices.contains(number - first) ? segments[number - first] : nil
        }

        func has(_ content: Content) -> Bool { segment(content.number)?.bytes.isSame(as: content.bytes) == true }
    }
    /// A segment of a log.
    struct Content {
        var number: Int
        var bytes: [UInt8]
    }

    private let world: World
    private let number: Int
    /// Whether the segments of a version are ranges of one file.
    private let isOneFile: Bool
    /// Number of segments of each key; 0 for a film without encryption.
    private let segmentsPerKey: Int
    /// Whether the playlist states the vectors of its keys.
    private let statesVectors: Bool
    private let host: String
    /// Whether two versions have segments in common.
    private let agrees: Bool
    /// Whether the segments of earlier versions are still there.
    private let keepsOld: Bool
    /// Nanoseconds until the links of one reading of the playlist expire; `nil` for never.
    private let linkLife: Int64?
    private let firstNumber: Int
    /// Type of the playlist; its path tells what it is in any case.
    private let mediaType: String?
    private(set) var versions: [Version] = []
    /// Index of the version that the playlist lists.
    private var present = 0
    /// The files as they are served.
    private var files: [String: [UInt8]] = [:]
    private var vectors: [String: [UInt8]] = [:]
    /// The times of the readings of the playlist.
    private var readings: [Int64] = []

    private static let packet = 188

    init(_ world: World, number: Int, isClean: Bool) {
        self.world = world
        self.number = number
        isOneFile = world.once(in: 4)
        segmentsPerKey = world.once(in: 3) ? world.chance(1...5) : 0
        statesVectors = world.once(in: 2)
        host = world.once(in: 4) ? "cdn.test" : "server.test"
        agrees = !isOneFile && world.once(in: 2)
        keepsOld = world.once(in: 2)
        linkLife = isClean || world.chance(4) > 0 ? nil : Int64(world.chance(1...10)) * 1_000_000_000
        firstNumber = world.once(in: 2) ? 0 : world.chance(1...1000)
        mediaType = [nil, "application/vnd.apple.mpegurl", "application/octet-stream"][world.chance(3)]
        addVersion()
    }

    var current: Version { versions[present] }

    /// Returns whether the film has a resource at a URL.
    func has(_ url: URL) -> Bool {
        url.path.hasPrefix("/\(number)/") && ["cdn.test", "server.test"].contains(url.host ?? "")
    }

    // MARK: Versions

    /// Lists another film from now on.
    func change() {
        addVersion()
        present = versions.count - 1
    }

    /// Lists the first version again.
    func restore() { present = 0 }

    private func addVersion() {
        let name = versions.count
        var segments: [Segment] = []
        if agrees, let last = versions.last {
            segments = last.segments
            let start = world.chance(segments.count)
            for index in start..<min(segments.count, start + world.chance(1...4)) {
                segments[index] = segment(index, name)
            }
            switch world.chance(4) {
            case 0: for _ in 0..<world.chance(1...3) { segments.append(segment(segments.count, name)) }
            case 1: segments.removeLast(world.chance(segments.count))
            default: break
            }
        } else {
            segments = (0..<world.chance(2...14)).map { segment($0, name) }
        }
        if isOneFile {
            let path = "/\(number)/\(name)/all.ts"
            var file: [UInt8] = []
            for index in segments.indices {
                let served = files.removeValue(forKey: segments[index].path) ?? []
                segments[index].path = path
                segments[index].range = file.count..<file.count + served.count
                file += served
            }
            files[path] = file
        }
        versions.append(Version(first: firstNumber, segments: segments))
    }

    /// Makes a segment and its file.
    private func segment(_ index: Int, _ version: Int) -> Segment {
        // Some segments are longer than the pieces in which they are passed on.
        let packets = world.once(in: 100) ? world.chance(1400...2600) : world.chance(1...60)
        var bytes = LifeSite.bytes(packets * Self.packet, seed: world.random.next())
        for packet in 0..<packets {
            bytes[packet * Self.packet] = 0x47
            // No packet is stuffing, because a segment of nothing else is no media.
            bytes[packet * Self.packet + 1] &= 0x0f
        }
        let path = "/\(number)/\(version)/\(index).ts"
        guard segmentsPerKey > 0 else {
            files[path] = bytes
            return Segment(bytes: bytes, path: path)
        }
        let key = "/\(number)/\(version)/\(index / segmentsPerKey).key"
        let secret = files[key] ?? LifeSite.bytes(16, seed: world.random.next())
        files[key] = secret
        if statesVectors, vectors[key] == nil { vectors[key] = LifeSite.bytes(16, seed: world.random.next()) }
        files[path] = Self.encrypted(bytes, secret, vectors[key] ?? vector(index))
        return Segment(bytes: bytes, path: path, key: key)
    }

    /// Returns the vector that follows from the number of a segment (RFC 8216 §5.2).
    private func vector(_ index: Int) -> [UInt8] {
        let number = UInt64(firstNumber + index).bigEndian
        return [UInt8](repeating: 0, count: 8) + withUnsafeBytes(of: number) { Array($0) }
    }

    private static func encrypted(_ bytes: [UInt8], _ key: [UInt8], _ vector: [UInt8]) -> [UInt8] {
        do {
            let vector = try AES._CBC.IV(ivBytes: vector)
            return Array(try AES._CBC.encrypt(bytes, using: SymmetricKey(data: key), iv: vector))
        } catch {
            // No segment is empty, so this one fails each check.
            return []
        }
    }

    /// Returns the playlist of a version, with links that are good from now on.
    private func playlist(_ version: Version) -> String {
        readings.append(world.now)
        let origin = host == "server.test" ? "" : "http://\(host)"
        let mark = linkLife == nil ? "" : "?reading=\(readings.count - 1)"
        var lines = ["#EXTM3U", "#EXT-X-VERSION:4", "#EXT-X-TARGETDURATION:4", "#EXT-X-MEDIA-SEQUENCE:\(firstNumber)"]
        var key: String?
        for segment in version.segments {
            if segment.key != key, let path = segment.key {
                let vector = vectors[path].map { ",IV=0x" + $0.hexadecimal } ?? ""
                lines.append("#EXT-X-KEY:METHOD=AES-128,URI=\"\(origin)\(path)\(mark)\"\(vector)")
                key = path
            }
            lines.append("#EXTINF:4,")
            if let range = segment.range { lines.append("#EXT-X-BYTERANGE:\(range.count)@\(range.lowerBound)") }
            lines.append("\(origin)\(segment.path)\(mark)")
        }
        return (lines + ["#EXT-X-ENDLIST", ""]).joined(separator: "\n")
    }

    // MARK: Answers

    func answer(_ request: TransportRequest, of site: LifeSite, isLie: Bool) -> LifeAnswer {
        let path = request.url.path
        if path == site.url.path {
            return isLie ? playlistLie(request, site) : playlist(current, request, site)
        }
        let isThere =
            site.isHonest || keepsOld
            ? files[path] != nil : current.segments.contains { $0.path == path || $0.key == path }
        guard isThere, let file = files[path] else { return Self.status(404, request) }
        if !site.isHonest, hasExpired(request.url) { return Self.status(world.once(in: 4) ? 410 : 403, request) }
        if path.hasSuffix(".key") { return isLie ? keyLie(file, request, site) : Self.whole(file, request, site) }
        let answer = truth(file, request, site)
        return isLie ? lie(answer, file, request, site) : answer
    }

    private func hasExpired(_ url: URL) -> Bool {
        guard let linkLife, let query = url.query, let reading = Int(query.dropFirst("reading=".count)),
            readings.indices.contains(reading)
        else { return false }
        return world.now - readings[reading] > linkLife
    }

    private func playlist(_ version: Version, _ request: TransportRequest, _ site: LifeSite) -> LifeAnswer {
        let type = mediaType.map { [("Content-Type", $0)] } ?? []
        return Self.whole(Array(playlist(version).utf8), request, site, type)
    }

    private func truth(_ file: [UInt8], _ request: TransportRequest, _ site: LifeSite) -> LifeAnswer {
        let first = Int(clamping: request.firstByte)
        guard request.firstByte > 0 || request.end != nil, site.hasRanges else {
            var answer = Self.whole(file, request, site)
            if request.end == nil { answer.place = Place(path: request.url.path, first: 0) }
            return answer
        }
        let end = min(file.count, Int(clamping: request.end ?? .max))
        guard first < end else { return Self.status(416, request) }
        var answer = part(file, first..<end, request, site)
        answer.place = Place(path: request.url.path, first: first)
        return answer
    }

    private func part(
        _ file: [UInt8],
        _ range: Range<Int>,
        says said: Range<Int>? = nil,
        _ request: TransportRequest,
        _ site: LifeSite
    ) -> LifeAnswer {
        let said = said ?? range
        let field = ("Content-Range", "bytes \(said.lowerBound)-\(said.upperBound - 1)/\(file.count)")
        return LifeAnswer(
            head: Self.head(206, [field] + site.frame(range.count), request),
            body: Array(file[range]),
            offset: Int64(range.lowerBound)
        )
    }

    // MARK: Lies

    private func playlistLie(_ request: TransportRequest, _ site: LifeSite) -> LifeAnswer {
        switch world.chance(6) {
        case 0: page(request)
        case 1, 2: refusal(request)
        case 3: playlist(versions[world.chance(versions.count)], request, site)
        // A client takes a playlist that ends early without a sign of it for one that will grow.
        default: cut(playlist(current, request, site), mayBeSilent: false, site)
        }
    }

    private func keyLie(_ key: [UInt8], _ request: TransportRequest, _ site: LifeSite) -> LifeAnswer {
        switch world.chance(6) {
        case 0: Self.whole(LifeSite.bytes(16, seed: world.random.next()), request, site)
        case 1: Self.whole(LifeSite.bytes(world.once(in: 2) ? 15 : 17, seed: 1), request, site)
        case 2: page(request)
        case 3, 4: refusal(request)
        default: cut(Self.whole(key, request, site), mayBeSilent: false, site)
        }
    }

    private func lie(_ truth: LifeAnswer, _ file: [UInt8], _ request: TransportRequest, _ site: LifeSite) -> LifeAnswer
    {
        let first = Int(clamping: request.firstByte)
        let end = min(file.count, Int(clamping: request.end ?? .max))
        switch world.chance(10) {
        case 0: return page(request)
        case 1, 2, 3: return refusal(request)
        case 4 where first < end && (first > 0 || request.end != nil):
            switch world.chance(5) {
            case 0: return part(file, min(first + world.chance(1...100), end - 1)..<end, request, site)
            case 1: return part(file, max(0, first - world.chance(1...100))..<end, request, site)
            case 2: return part(file, first..<max(first + 1, end - world.chance(1...1000)), request, site)
            case 3: return part(file, first..<min(file.count, end + world.chance(1...1000)), request, site)
            default: return part(file, first..<max(first, world.chance(first...end)), says: first..<end, request, site)
            }
        // A range that nobody asked for.
        case 4 where file.count > 1: return part(file, 0..<file.count - 1, request, site)
        case 5: return Self.whole(file, request, site)
        default: return cut(truth, mayBeSilent: true, site)
        }
    }

    /// Returns the answer with a body that ends early.
    ///
    /// - Parameter mayBeSilent: whether the body may end without a sign of it. What is left is then no whole segment.
    private func cut(_ answer: LifeAnswer, mayBeSilent: Bool, _ site: LifeSite) -> LifeAnswer {
        var answer = answer
        guard !answer.body.isEmpty else { return answer }
        answer.place = nil
        answer.body = Array(answer.body.prefix(world.chance(answer.body.count)))
        let isFramed = answer.head?.headers.contains(name: "Content-Length") == true
        let length = answer.body.count
        if mayBeSilent, !isFramed, length % Self.packet != 0, length % 16 != 0, world.once(in: 2) { return answer }
        answer.failure = TransportError(world.once(in: 3) ? .stalled : .connectionLost)
        return answer
    }

    private func refusal(_ request: TransportRequest) -> LifeAnswer {
        switch world.chance(9) {
        case 0: Self.status(500, request)
        case 1: Self.status(503, request, [("Retry-After", "\(world.chance(3))")])
        case 2: Self.status(429, request, [("Retry-After", world.once(in: 2) ? "1" : "soon")])
        case 3: Self.status(404, request)
        case 4: Self.status(410, request)
        case 5: LifeAnswer(failure: TransportError(.connectionFailed))
        case 6: LifeAnswer(failure: TransportError(.responseTimeout))
        default: Self.status(403, request)
        }
    }

    /// A login page from a server in between.
    private func page(_ request: TransportRequest) -> LifeAnswer {
        let body = Array("<html>\(String(repeating: "please log in ", count: world.chance(1...20)))</html>".utf8)
        let type = world.once(in: 2) ? [("Content-Type", "text/html")] : []
        return LifeAnswer(
            head: Self.head(200, type + [("Content-Length", "\(body.count)")], request),
            body: body
        )
    }

    // MARK: Pieces of answers

    private static func head(_ status: Int, _ fields: [(String, String)], _ request: TransportRequest) -> ResponseHead {
        ResponseHead(status: status, headers: HeaderFields(fields), url: request.url, requested: request.url)
    }

    private static func status(_ status: Int, _ request: TransportRequest, _ fields: [(String, String)] = [])
        -> LifeAnswer
    {
        LifeAnswer(head: head(status, fields + [("Content-Length", "0")], request))
    }

    private static func whole(
        _ body: [UInt8],
        _ request: TransportRequest,
        _ site: LifeSite,
        _ fields: [(String, String)] = []
    ) -> LifeAnswer {
        LifeAnswer(head: head(200, site.frame(body.count) + fields, request), body: body)
    }
}
