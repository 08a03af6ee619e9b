import Foundation
import NIOHTTP1

@testable import HaulCore
@testable import HaulKit

/// Checks whether bytes may be joined, by a second and simpler implementation of the rules.
extension FuzzTarget {
    static let ranges: [FuzzTarget] = [
        FuzzTarget(
            text: "joined answers",
            [
                "206\nContent-Range: bytes 40-99/100\nETag: \"a\"\nContent-Length: 60",
                "206\nContent-Range: bytes 40-99/*\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\nTransfer-Encoding: chunked",
                "206\nContent-Range: bytes 24-99/100\nETag: W/\"a\"", "416\nContent-Range: bytes */40\nETag: \"a\"",
                "206\nContent-Range: bytes 40-59/100\nETag: W/\"a\"\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT",
                "200\nContent-Length: 100\nETag: \"a\"", "200\nContent-Length: 60\nETag: \"a\"", "412\n",
            ]
        ) { text in
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            guard let status = lines.first.flatMap({ Int($0) }), (200...599).contains(status),
                let url = URL(string: "http://one.example/a.iso")
            else { return nil }
            var fields = HTTPHeaders()
            for line in lines.dropFirst().prefix(20) {
                let parts = line.split(separator: ":", maxSplits: 1)
                if parts.count == 2, parts[0].utf8.allSatisfy({ $0 < 0x80 }) {
                    fields.add(name: String(parts[0]), value: parts[1].trimmingCharacters(in: .whitespaces))
                }
            }
            let head = ResponseHead(status: status, headers: HeaderFields(fields), url: url, requested: url)
            for total: Int64? in [100, nil] {
                for named in [tagged, dated, weak, unnamed] {
                    if let wrong = wrong(head, Resource(total: total, validator: named)) { return wrong }
                }
            }
            return nil
        }
    ]

    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let tagged = Validator(entityTag: EntityTag("\"a\""))
    private static let dated = Validator(lastModified: date, lastModifiedIsStrong: true)
    private static let weak = Validator(entityTag: EntityTag("W/\"a\""), lastModified: date, lastModifiedIsStrong: true)
    private static let unnamed = Validator()

    private static func wrong(_ head: ResponseHead, _ known: Resource) -> String? {
        // Whether the answer carries the known strong validator.
        let isNamed =
            known.validator.strongTag != nil
            ? head.headers.first(name: "ETag") == "\"a\""
            : known.validator == dated && head.headers.first(name: "Last-Modified") == date
        for isPlain in [false, true] {
            let question = RangeRequest.resuming(known, at: 40, resumesUnverified: false, isPlain: isPlain)
            switch RangeResponse.judge(head, to: question) {
            case .accept(_, at: 40, let compare):
                if head.status != 206 { return "\(head.status) is joined" }
                guard case .satisfied(let range, let complete)? = head.contentRange, range.lower == 40 - compare else {
                    return "bytes from elsewhere are joined"
                }
                if let complete, let total = known.total, complete != total { return "\(complete) of \(total) bytes" }
                if !isNamed, compare != 40 { return "an answer without the version's name is joined" }
            case .accept(_, let offset, _): if offset != 0 || question.goesOn { return "it is written at \(offset)" }
            case .alreadyComplete:
                if !isNamed { return "complete by an answer without the version's name" }
                guard case .unsatisfied(40)? = head.contentRange else { return "complete at another length" }
            case .restart(let resource, _):
                if head.status != 200, head.status != 203 { return "\(head.status) in place of all" }
                if let total = resource.total, total != head.contentLength ?? known.total {
                    return "a length that nobody said"
                }
            case .askWithoutCondition: if question.condition == .none { return "it asks the same again" }
            case .compareFirst, .startOver, .refuse: break
            }
            let further = RangeRequest.further(40..<60, of: known, isPlain: isPlain)
            guard case .accept = SegmentResponse.judge(head, to: further, isMirror: false) else { continue }
            guard case .satisfied(let range, _)? = head.contentRange, range.lower == 40, range.upper <= 60 else {
                return "a stretch from elsewhere is joined"
            }
            if !isNamed { return "a further connection brings what nothing names" }
        }
        return nil
    }
}
