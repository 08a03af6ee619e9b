import Foundation
import NIOHTTP1

@testable import HaulCore
@testable import HaulKit

/// Parsers of response fields.
extension FuzzTarget {
    static let fields: [FuzzTarget] = [
        FuzzTarget(text: "Content-Range", ["bytes 0-99/100", "bytes */100", "bytes 5-9/*", "bytes=1-2/3", "7-8/9"]) {
            text in
            guard let range = ContentRange(text) else { return nil }
            switch range {
            case .satisfied(let range, let complete):
                guard range.lower >= 0, range.lower < range.upper, range.upper <= complete ?? .max else {
                    return "\(range) of \(complete.map { "\($0)" } ?? "*")"
                }
            case .unsatisfied(let complete): if complete < 0 { return "a length of \(complete)" }
            }
            return nil
        },
        FuzzTarget(text: "ETag", ["\"abc\"", "W/\"abc\"", "\"\"", "abc", "W/abc"]) { text in
            let tag = EntityTag(text)
            if tag.text != text { return "\(tag.text) is not what was sent" }
            if !tag.weaklyMatches(tag) { return "it does not match itself" }
            if tag.stronglyMatches(tag) == tag.isWeak { return "weak and strong at once" }
            if tag.isWellFormed, text.utf8.contains(where: { $0 < 0x21 || $0 == 0x7F }) {
                return "a control character or a blank"
            }
            return nil
        },
        FuzzTarget(
            text: "dates",
            ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
        ) { text in
            guard let date = HTTPDate.parse(text, now: now) else { return nil }
            let again = HTTPDate.format(date)
            return HTTPDate.parse(again, now: now) == date ? nil : "\(date) is written as \(again)"
        },
        FuzzTarget(text: "Retry-After", ["120", "0", "Fri, 31 Dec 1999 23:59:59 GMT", "99999999999999999999"]) { text in
            guard let delay = RetryAfterHeader.delay(text, now: now) else { return nil }
            return delay >= .zero && delay <= RetryAfterHeader.maximum ? nil : "\(delay)"
        },
        FuzzTarget(
            text: "Link",
            [
                "<https://m.example/a>; rel=duplicate; pri=1; geo=de",
                "<a.meta4>; rel=\"describedby\"; type=\"application/metalink4+xml\"",
                "<x>; title*=UTF-8''a; rel=next, <y>; rel=\"a b\\\"c\"",
            ]
        ) { text in
            for link in LinkHeader.parse([text]) {
                if link.target.utf8.contains(UInt8(ascii: ">")) { return "a target with its end in it" }
                if link.parameters.contains(where: { $0.name != $0.name.lowercased() }) {
                    return "a name in upper case"
                }
            }
            guard let base = URL(string: "https://one.example/a/b.iso?c") else { return nil }
            let links = MirrorLinks([text], base: base)
            if links.mirrors.count > MirrorLinks.maximum || links.descriptions.count > MirrorLinks.maximum {
                return "too many"
            }
            for url in links.mirrors.map(\.source.url) + links.descriptions where !url.isAskable || url.user != nil {
                return "\(url) cannot be asked"
            }
            return nil
        },
        FuzzTarget(
            text: "Repr-Digest",
            [
                "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:",
                "SHA-256=X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=",
                "md5=:1B2M2Y8AsgTpgAmY7PhCfg==:, sha-512=:AA==:",
            ]
        ) { text in
            for checksum in [
                ReprDigest.checksum(reprDigest: [text], digest: []),
                ReprDigest.checksum(reprDigest: [], digest: [text]),
            ] {
                if let checksum, checksum.digest.count != checksum.algorithm.digestLength { return "\(checksum)" }
            }
            return nil
        },
        FuzzTarget(
            text: "heads",
            [
                "Content-Length: 100\nContent-Range: bytes 0-99/100\nETag: \"a\"",
                "Transfer-Encoding: chunked\nContent-Type: text/html; a=b",
                "Content-Length: 5, 5\nContent-Encoding: gzip\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\nDate: Sun, 06 Nov 1994 08:49:38 GMT",
            ],
            judge
        ),
        FuzzTarget(
            text: "expiring links",
            [
                "https://a.example/f?X-Amz-Date=20250101T000000Z&X-Amz-Expires=3600",
                "https://a.example/f?Expires=1735689600&Signature=x",
                "https://a.example/f?se=2025-01-01T00%3A00%3A00Z&sig=x",
                "https://a.example/f?Policy=eyJTdGF0ZW1lbnQiOlt7fV19",
            ]
        ) { text in
            guard let url = URL(string: text), let date = LinkExpiry.date(in: url) else { return nil }
            return date.timeIntervalSince1970.isFinite ? nil : "\(date)"
        },
    ]

    /// Judges a head with several statuses against several requests.
    private static func judge(_ text: String) -> String? {
        var fields = HTTPHeaders()
        for line in text.split(separator: "\n").prefix(20) {
            let parts = line.split(separator: ":", maxSplits: 1)
            // The decoder passes no other names, and `HTTPHeaders` does not allow them.
            if parts.count == 2, parts[0].utf8.allSatisfy({ $0 < 0x80 }) {
                fields.add(name: String(parts[0]), value: parts[1].trimmingCharacters(in: .whitespaces))
            }
        }
        guard let url = URL(string: "http://one.example/a.iso"), let other = URL(string: "http://two.example/b") else {
            return nil
        }
        for status in [200, 203, 206, 416, 412, 503] {
            let head = ResponseHead(
                status: status,
                headers: HeaderFields(fields),
                url: text.utf8.count % 2 == 0 ? url : other,
                requested: url
            )
            if let length = head.contentLength, length < 0 { return "a length of \(length)" }
            var known = Resource(whole: head)
            if let total = known.total, total < 0 { return "a total of \(total)" }
            known.total = known.total ?? 1000
            let questions = [
                RangeRequest.whole, .resuming(known, at: 40, resumesUnverified: false),
                .resuming(known, at: 40, until: 80, resumesUnverified: true),
                .further(10..<20, of: known, isPlain: false),
            ]
            for question in questions {
                guard case .accept(let resource, let offset, let compare) = RangeResponse.judge(head, to: question)
                else {
                    continue
                }
                if offset != question.offset && offset != 0 { return "\(status) is to be written at \(offset)" }
                if compare < 0 || compare > offset { return "\(compare) bytes are to be compared" }
                if let total = resource.total, total < offset { return "\(offset) of \(total)" }
            }
        }
        return nil
    }
}
