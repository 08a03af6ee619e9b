import Foundation
import NIOHTTP1

@testable import HaulKit

/// A server whose file changes under the download, and which answers ranges well, badly or not at all.
struct ShadowServer {
    struct Version: Equatable {
        var number: Int
        var total: Int64
        var tag: String?
        var date: String?
        var coding: String?
        var digest: Checksum { ShadowServer.digest(of: number) }
    }

    /// What the connection would carry, were its body admitted.
    struct Body: Equatable {
        var version: Version
        var first: Int64
        var end: Int64
    }

    struct Answer {
        var head: ResponseHead
        var retryAfter: Duration?
        var body: Body?
    }

    enum Naming: CaseIterable { case strong, weak, none }
    enum Framing: CaseIterable { case length, chunked, close }

    let tags: Naming
    let dates: Naming
    let framing: Framing
    /// Whether `Content-Range` names the complete length.
    let saysTotal: Bool
    let doesRanges: Bool
    let announcesDigest: Bool
    /// How many of a hundred answers are bad ones.
    var badness: Int
    private(set) var versions: [Int: Version] = [:]
    private(set) var current: Version

    private static let lengths: [Int64] = [0, 1, 17, 1000, 16_384, 16_385, 40_000, 100_000]

    init(_ random: inout SplitMix64) {
        tags = Naming.allCases.randomElement(using: &random) ?? .strong
        dates = Naming.allCases.randomElement(using: &random) ?? .strong
        framing = Framing.allCases.randomElement(using: &random) ?? .length
        saysTotal = Int.random(in: 0..<4, using: &random) > 0
        doesRanges = Int.random(in: 0..<6, using: &random) > 0
        announcesDigest = Int.random(in: 0..<4, using: &random) == 0
        badness = [0, 10, 30, 60].randomElement(using: &random) ?? 0
        current = Version(number: 0, total: 0)
        change(to: 1, &random)
    }

    /// The "version" of bytes that belong to no file.
    static let rubbish = 666

    static func digest(of version: Int) -> Checksum {
        // A digest has 32 bytes, and these are 32.
        Checksum(.sha256, digest: Array(repeating: UInt8(truncatingIfNeeded: version), count: 32))
            ?? ShadowServer.digest(of: 0)
    }

    mutating func change(to number: Int? = nil, _ random: inout SplitMix64) {
        let number = number ?? current.number + 1
        // A change within the same second leaves the date as it is.
        let second = Int.random(in: 0..<3, using: &random) == 0 && dates != .strong ? current.number : number
        let tag: String? =
            switch tags {
            case .strong: "\"v\(number)\""
            case .weak: "W/\"v\(number)\""
            case .none: nil
            }
        let keepsLength = Int.random(in: 0..<2, using: &random) == 0 && current.total > 0
        current = Version(
            number: number,
            total: keepsLength ? current.total : Self.lengths.randomElement(using: &random) ?? 1000,
            tag: tag,
            date: dates == .none ? nil : Self.date(second * 60)
        )
        versions[number] = current
        // The same file, compressed on the way.
        versions[number + 1000] = Version(
            number: number + 1000,
            total: current.total / 2 + 1,
            tag: current.tag,
            date: current.date,
            coding: "gzip"
        )
    }

    private static func date(_ seconds: Int) -> String {
        HTTPDate.format(Date(timeIntervalSince1970: 1_700_000_000 + Double(seconds)))
    }

    // MARK: Answering

    mutating func answer(_ question: RangeQuestion, _ random: inout SplitMix64) -> Answer {
        guard Int.random(in: 0..<100, using: &random) < badness else { return proper(question) }
        return bad(question, &random)
    }

    func proper(_ question: RangeQuestion, honoursCondition: Bool = true) -> Answer {
        var isAllowed = true
        if honoursCondition, case .ifRange(let value) = question.condition {
            isAllowed = (tags == .strong && value == current.tag) || (dates == .strong && value == current.date)
        }
        // The transport sends no Range header for a question that begins at byte 0.
        guard question.first > 0, doesRanges, isAllowed else { return whole(current) }
        guard question.first < current.total else {
            return Answer(head: head(416, current, ["Content-Range": "bytes */\(current.total)"]))
        }
        return part(question.first, current.total)
    }

    private func whole(_ version: Version, redirected: Bool = false) -> Answer {
        var fields: [String: String] = [:]
        switch framing {
        case .length: fields["Content-Length"] = "\(version.total)"
        case .chunked: fields["Transfer-Encoding"] = "chunked"
        case .close: break
        }
        fields["Content-Encoding"] = version.coding
        if announcesDigest { fields["Repr-Digest"] = "sha-256=:\(Data(version.digest.digest).base64EncodedString()):" }
        return Answer(head: head(200, version, fields), body: Body(version: version, first: 0, end: version.total))
    }

    private func part(_ first: Int64, _ end: Int64, says range: String? = nil, _ more: [String: String] = [:]) -> Answer
    {
        var fields = more
        fields["Content-Range"] = range ?? "bytes \(first)-\(end - 1)/\(saysTotal ? String(current.total) : "*")"
        if framing == .length { fields["Content-Length"] = "\(end - first)" }
        if framing == .chunked { fields["Transfer-Encoding"] = "chunked" }
        return Answer(head: head(206, current, fields), body: Body(version: current, first: first, end: end))
    }

    private func head(_ status: Int, _ version: Version?, _ more: [String: String] = [:], from: String? = nil)
        -> ResponseHead
    {
        var headers = HTTPHeaders(more.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        if let tag = version?.tag { headers.replaceOrAdd(name: "ETag", value: tag) }
        if let date = version?.date {
            headers.replaceOrAdd(name: "Last-Modified", value: date)
            let later = Self.date(1_000_000)
            headers.replaceOrAdd(name: "Date", value: dates == .strong ? later : date)
        }
        if version != nil, !headers.contains(name: "Content-Type") {
            headers.add(name: "Content-Type", value: "application/octet-stream")
        }
        let asked = link("https://files.example/a.iso")
        return ResponseHead(status: status, headers: headers, url: from.map(link) ?? asked, requested: asked)
    }

    private mutating func bad(_ question: RangeQuestion, _ random: inout SplitMix64) -> Answer {
        let mirror = "https://cdn.example/x/a.iso?signature=secret"
        let first = question.first
        switch Int.random(in: 0..<24, using: &random) {
        case 0: return Answer(head: head(503, nil), retryAfter: .seconds(Int.random(in: 0..<1000, using: &random)))
        case 1: return Answer(head: head(429, nil), retryAfter: .seconds(-5))
        case 2: return Answer(head: head([500, 502, 408].randomElement(using: &random) ?? 500, nil))
        case 3: return Answer(head: head(404, nil))
        case 4: return Answer(head: head([401, 403, 404, 410].randomElement(using: &random) ?? 403, nil, from: mirror))
        case 5: return Answer(head: head(412, nil))
        case 6: return Answer(head: head(416, current, ["Content-Range": "bytes */\(question.offset + 1)"]))
        case 7: return Answer(head: head(416, nil))
        case 8: return whole(current)
        case 9: return part(first + 1, max(first + 2, current.total))
        case 10: return part(first, first + 5, says: "bytes \(first + 1)-\(first + 5)/\(current.total + 5)")
        case 11: return part(first, first + 5, says: "bytes \(first)-\(first + 4)/\(current.total + 7)")
        case 12: return part(first, first + 5, says: "pages \(first)-\(first + 4)/\(current.total)")
        case 13:
            var answer = part(
                first,
                max(first + 1, current.total),
                ["Content-Type": "multipart/byteranges; boundary=x"]
            )
            answer.head.headers.remove(name: "Content-Length")
            answer.head.headers.replaceOrAdd(name: "Transfer-Encoding", value: "chunked")
            answer.body?.version.number = Self.rubbish
            return answer
        case 14: return part(first, max(first + 1, current.total), ["Content-Encoding": "gzip"])
        case 15, 16:
            // Less than was asked for, as a server may.
            guard first > 0, first < current.total else { return proper(question) }
            let end = Int64.random(in: first + 1...current.total, using: &random)
            return part(first, end == question.offset ? current.total : end)
        case 17:
            change(&random)
            return proper(question)
        case 18:
            change(&random)
            return proper(question, honoursCondition: false)
        case 19: return proper(question, honoursCondition: false)
        case 20:
            return Answer(
                head: head(
                    200,
                    nil,
                    ["Content-Type": "text/html", "Content-Length": "900"],
                    from: "https://login.example/"
                )
            )
        case 21: return Answer(head: head([204, 300, 304, 100, 999].randomElement(using: &random) ?? 204, nil))
        case 22:
            guard let coded = versions[current.number + 1000] else { return proper(question) }
            return whole(coded)
        default:
            var answer = proper(question)
            if case .ifRange = question.condition, answer.head.status == 206 {
                // RFC 9110 wants the tag in this answer, and some leave it out.
                answer.head.headers.remove(name: "ETag")
            } else if announcesDigest {
                answer.head.headers.replaceOrAdd(
                    name: "Repr-Digest",
                    value: "sha-256=:\(Data(Self.digest(of: 77).digest).base64EncodedString()):"
                )
            }
            return answer
        }
    }
}
