import Foundation

@testable import HaulCore

/// The answers of the servers.
extension ShadowServer {
    /// The body of an answer, before its admission.
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

    mutating func answer(_ question: RangeRequest, _ random: inout SplitMix64) -> Answer {
        guard Int.random(in: 0..<100, using: &random) < badness else { return proper(question) }
        return bad(question, &random)
    }

    /// Returns the answer to a connection beyond the limit.
    func refusal(_ question: RangeRequest, _ random: inout SplitMix64) -> Answer {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: Answer(head: head(429, nil), retryAfter: .seconds(1))
        case 1: Answer(head: head(503, nil))
        case 2: Answer(head: head(403, nil))
        default: version(at: question.source).map { whole($0) } ?? Answer(head: head(404, nil))
        }
    }

    func proper(_ question: RangeRequest, honoursCondition: Bool = true) -> Answer {
        guard let version = version(at: question.source) else { return Answer(head: head(404, nil)) }
        let hasTag = { (tag: String) in tags == .strong && tag == version.tag }
        if honoursCondition, !ignoresConditions {
            switch question.condition {
            case .none: break
            case .ifRange(let value):
                if !hasTag(value), dates != .strong || value != version.date { return whole(version) }
            case .ifMatch(let value):
                if !hasTag(value) { return Answer(head: head(412, version)) }
            case .ifUnmodifiedSince(let value):
                if value != version.date { return Answer(head: head(412, version)) }
            }
        }
        guard question.sendsRange, doesRanges else { return whole(version) }
        guard question.first < version.total else {
            return Answer(head: head(416, version, ["Content-Range": "bytes */\(version.total)"]))
        }
        return part(question.first, min(question.end ?? version.total, version.total), of: version)
    }

    func whole(_ version: Version) -> Answer {
        var fields: [String: String] = [:]
        switch framing {
        case .length: fields["Content-Length"] = "\(version.total)"
        case .chunked: fields["Transfer-Encoding"] = "chunked"
        case .close: break
        }
        fields["Content-Encoding"] = version.coding
        if announcesDigest { fields["Repr-Digest"] = Self.field(Self.digest(of: version.number)) }
        return Answer(head: head(200, version, fields), body: Body(version: version, first: 0, end: version.total))
    }

    private static func field(_ digest: DownloadRequest.Checksum) -> String {
        "sha-256=:\(Data(digest.digest).base64EncodedString()):"
    }

    private func part(
        _ first: Int64,
        _ end: Int64,
        of version: Version,
        says range: String? = nil,
        _ more: [String: String] = [:]
    ) -> Answer {
        var fields = more
        fields["Content-Range"] = range ?? "bytes \(first)-\(end - 1)/\(saysTotal ? String(version.total) : "*")"
        if framing == .length { fields["Content-Length"] = "\(end - first)" }
        if framing == .chunked { fields["Transfer-Encoding"] = "chunked" }
        var named = version
        switch partNaming {
        case .asTheWhole: break
        case .weakened:
            named.tag = version.tag.map { $0.hasPrefix("W/") ? $0 : "W/" + $0 }
            named.date = nil
        case .none: (named.tag, named.date) = (nil, nil)
        }
        return Answer(head: head(206, named, fields), body: Body(version: version, first: first, end: end))
    }

    func head(_ status: Int, _ version: Version?, _ more: [String: String] = [:], from: String? = nil)
        -> ResponseHead
    {
        var headers = HeaderFields(more.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        if let tag = version?.tag { headers.replaceOrAdd(name: "ETag", value: tag) }
        if let date = version?.date {
            headers.replaceOrAdd(name: "Last-Modified", value: date)
            let later = Self.date(1_000_000)
            headers.replaceOrAdd(name: "Date", value: dates == .strong ? later : date)
        }
        if version != nil, !headers.contains(name: "Content-Type") {
            headers.add(name: "Content-Type", value: "application/octet-stream")
        }
        return ResponseHead(status: status, headers: headers, url: from.map(link) ?? asked, requested: asked)
    }

    private mutating func bad(_ question: RangeRequest, _ random: inout SplitMix64) -> Answer {
        guard let version = version(at: question.source) else { return proper(question) }
        let cdn = "https://cdn.example/x/a.iso?signature=secret"
        let first = question.first
        let total = version.total
        switch Int.random(in: 0..<25, using: &random) {
        case 0: return Answer(head: head(503, nil), retryAfter: .seconds(Int.random(in: 0..<1000, using: &random)))
        case 1: return Answer(head: head(429, nil), retryAfter: .seconds(-5))
        case 2: return Answer(head: head([500, 502, 408].randomElement(using: &random) ?? 500, nil))
        case 3: return Answer(head: head(404, nil))
        case 4: return Answer(head: head([401, 403, 404, 410].randomElement(using: &random) ?? 403, nil, from: cdn))
        case 5: return Answer(head: head(412, nil))
        case 6: return Answer(head: head(416, version, ["Content-Range": "bytes */\(question.offset + 1)"]))
        case 7: return Answer(head: head(416, nil))
        case 8: return whole(version)
        case 9: return part(first + 1, max(first + 2, total), of: version)
        case 10: return part(first, first + 5, of: version, says: "bytes \(first + 1)-\(first + 5)/\(total + 5)")
        case 11: return part(first, first + 5, of: version, says: "bytes \(first)-\(first + 4)/\(total + 7)")
        case 12: return part(first, first + 5, of: version, says: "pages \(first)-\(first + 4)/\(total)")
        case 13: return pages(first, max(first + 1, total), of: version)
        case 14: return part(first, max(first + 1, total), of: version, ["Content-Encoding": "gzip"])
        case 15, 16:
            // Sends less than was requested, as HTTP allows.
            let most = min(question.end ?? total, total)
            guard first > 0, first < most else { return proper(question) }
            let end = Int64.random(in: first + 1...most, using: &random)
            return part(first, end == question.offset ? most : end, of: version)
        case 17, 18, 19:
            let honours = Int.random(in: 0..<3, using: &random) == 0
            if Bool.random(using: &random) { change(&random) }
            return proper(question, honoursCondition: honours)
        case 20:
            let page = ["Content-Type": "text/html", "Content-Length": "900"]
            return Answer(head: head(200, nil, page, from: "https://login.example/"))
        case 21: return Answer(head: head([204, 300, 304, 100, 999].randomElement(using: &random) ?? 204, nil))
        case 22:
            guard let coded = versions[version.number + 1000] else { return proper(question) }
            return whole(coded)
        case 23:
            // Sends more than was requested.
            guard first < total else { return proper(question) }
            return part(first, total, of: version)
        default: return odd(question, &random)
        }
    }

    private func pages(_ first: Int64, _ end: Int64, of version: Version) -> Answer {
        var answer = part(first, end, of: version, ["Content-Type": "multipart/byteranges; boundary=x"])
        answer.head.headers.remove(name: "Content-Length")
        answer.head.headers.replaceOrAdd(name: "Transfer-Encoding", value: "chunked")
        answer.body?.version.number = Self.rubbish
        return answer
    }

    /// Omits the tag from the answer to a condition, although RFC 9110 requires it; or sends a wrong digest.
    private func odd(_ question: RangeRequest, _ random: inout SplitMix64) -> Answer {
        var answer = proper(question, honoursCondition: Bool.random(using: &random))
        switch question.condition {
        case .ifRange where answer.head.status == 206, .ifMatch where answer.head.status == 206:
            answer.head.headers.remove(name: "ETag")
        default:
            guard announcesDigest else { break }
            answer.head.headers.replaceOrAdd(name: "Repr-Digest", value: Self.field(Self.digest(of: 77)))
        }
        return answer
    }
}
