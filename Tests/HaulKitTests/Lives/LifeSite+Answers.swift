import Foundation

@testable import HaulCore
@testable import HaulKit

/// The answers of a site: the truth, and a few dozen kinds of lies.
extension LifeSite {
    func truth(_ request: TransportRequest) -> LifeAnswer {
        let bytes = current.bytes
        let asksForRange = request.firstByte > 0 || request.end != nil
        if asksForRange, hasConditions || isHonest, !holds(request.condition) {
            switch request.condition {
            case .ifMatch, .ifUnmodifiedSince: return status(412)
            case .ifRange, .none: return whole()
            }
        }
        guard asksForRange, hasRanges else { return whole() }
        guard request.firstByte < bytes.count else {
            return status(416, [("Content-Range", "bytes */\(bytes.count)")] + names(current))
        }
        return part(Int(request.firstByte)..<min(bytes.count, Int(clamping: request.end ?? .max)))
    }

    // MARK: Pieces of answers

    func head(_ status: Int, _ fields: [(String, String)]) -> ResponseHead {
        ResponseHead(status: status, headers: HeaderFields(fields), url: url, requested: url)
    }

    func status(_ status: Int, _ fields: [(String, String)] = []) -> LifeAnswer {
        LifeAnswer(head: head(status, fields + [("Content-Length", "0")]))
    }

    func frame(_ count: Int) -> [(String, String)] {
        switch framing {
        case .length: [("Content-Length", "\(count)")]
        case .chunked: [("Transfer-Encoding", "chunked")]
        case .close: []
        }
    }

    func whole(_ more: [(String, String)] = [], named: [(String, String)]? = nil) -> LifeAnswer {
        let bytes = current.bytes
        return LifeAnswer(head: head(200, frame(bytes.count) + (named ?? names(current)) + links + more), body: bytes)
    }

    func part(
        _ range: Range<Int>,
        says said: Range<Int>? = nil,
        total: String? = nil,
        named: [(String, String)]? = nil,
        framed: [(String, String)]? = nil
    ) -> LifeAnswer {
        let said = said ?? range
        let fields = [
            ("Content-Range", "bytes \(said.lowerBound)-\(said.upperBound - 1)/\(total ?? "\(current.bytes.count)")")
        ]
        return LifeAnswer(
            head: head(206, fields + (framed ?? frame(range.count)) + (named ?? partNames())),
            body: Array(current.bytes[range]),
            offset: Int64(range.lowerBound)
        )
    }

    // MARK: Lies

    func lie(_ request: TransportRequest) -> LifeAnswer {
        let count = current.bytes.count
        let first = Int(clamping: request.firstByte)
        let end = min(count, Int(clamping: request.end ?? .max))
        let asksForRange = request.firstByte > 0 || request.end != nil
        guard asksForRange, first < end, world.chance(5) > 0 else {
            return world.chance(3) == 0 ? refusal() : cut(truth(request))
        }
        switch world.chance(24) {
        case 0: return whole()
        // Ignores the condition.
        case 1: return part(first..<end)
        case 2: return part(first..<end, named: [])
        case 3: return part(first..<end, named: weakened())
        case 4: return part(first..<end, total: "*")
        case 5: return part(first..<end, total: "*", named: [])
        case 6: return part(first..<end, total: "\(count + world.chance(1...3))")
        // Sends another range than the requested one, with a correct `Content-Range`.
        case 7: return part(min(first + world.chance(1...100), end - 1)..<end)
        case 8: return part(max(0, first - world.chance(1...100))..<end)
        case 9: return part(first..<max(first + 1, end - world.chance(1...1000)))
        case 10: return part(first..<min(count, end + world.chance(1...1000)))
        // Sends fewer bytes than `Content-Range` says, without a sign of it.
        case 11:
            let cut = world.chance(first...end)
            return part(
                first..<max(first, cut),
                says: first..<end,
                framed: world.once(in: 2) ? [] : [("Transfer-Encoding", "chunked")]
            )
        case 12:
            var answer = part(first..<end)
            answer.head?.headers.replaceOrAdd(name: "Content-Type", value: "multipart/byteranges; boundary=x")
            return answer
        case 13:
            var answer = part(first..<end)
            answer.head?.headers.replaceOrAdd(name: "Content-Length", value: "\(max(0, end - first - 1))")
            return answer
        // Sends the rest with status 200. Its `Content-Range`, or a known tag with another length, shows that it is
        // only the rest.
        case 14, 15:
            var answer = part(first..<end)
            answer.head?.status = 200
            // Without `Content-Range` only the known tag and the length tell the rest from another version.
            let isKnown = request.condition.field != nil && holds(request.condition) && framing == .length
            if naming == .strongTag || naming == .strongTagAndDate, isKnown, world.once(in: 2) {
                answer.head?.headers.remove(name: "Content-Range")
                answer.head?.headers.replaceOrAdd(name: "Content-Length", value: "\(end - first)")
                answer.head?.headers.remove(name: "Transfer-Encoding")
            }
            return answer
        case 16:
            guard world.once(in: 2) else { return status(416) }
            // If no answer has told the length of the file, nothing contradicts this one.
            if framing != .length { noteCut(Array(current.bytes.prefix(first))) }
            return status(416, [("Content-Range", "bytes */\(first)")])
        case 17: return status(416, [("Content-Range", "bytes */\(count)")])
        case 18: return status(412)
        case 19:
            var answer = part(first..<end)
            answer.head?.headers.remove(name: "Content-Range")
            return answer
        case 20: return page()
        case 21 where isProved:
            // Sends wrong bytes that only a digest can show.
            var answer = part(first..<end)
            answer.body[world.chance(answer.body.count)] ^= 1
            return answer
        default: return cut(truth(request))
        }
    }

    /// Returns the version fields of a partial answer.
    private func partNames() -> [(String, String)] {
        if isHonest { return names(current) }
        return switch partNaming {
        case .full: names(current)
        case .omitted: []
        case .weakened: weakened()
        }
    }

    private func weakened() -> [(String, String)] {
        names(current).map { name, value in
            name == "ETag" && !value.hasPrefix("W/") ? (name, "W/" + value) : (name, value)
        }
    }

    private func refusal() -> LifeAnswer {
        switch world.chance(9) {
        case 0: return status(500)
        case 1: return status(503, [("Retry-After", "\(world.chance(3))")])
        case 2: return status(429, [("Retry-After", world.once(in: 2) ? "1" : "soon")])
        case 3: return status(404)
        case 4: return status(403)
        case 5: return LifeAnswer(failure: TransportError(.connectionFailed))
        case 6: return LifeAnswer(failure: TransportError(.responseTimeout))
        case 7: return page()
        default: return LifeAnswer(failure: TransportError(.malformedResponse))
        }
    }

    /// A login page from a server in between.
    private func page() -> LifeAnswer {
        let body = Array("<html>\(String(repeating: "please log in ", count: world.chance(1...20)))</html>".utf8)
        noteCut(body)
        return LifeAnswer(
            head: head(200, [("Content-Type", "text/html"), ("Content-Length", "\(body.count)")]),
            body: body
        )
    }

    /// Returns the answer with a body that ends early.
    private func cut(_ answer: LifeAnswer) -> LifeAnswer {
        var answer = answer
        guard !answer.body.isEmpty else { return answer }
        answer.body = Array(answer.body.prefix(world.chance(answer.body.count)))
        switch world.chance(3) {
        case 0: answer.failure = TransportError(.stalled)
        case 1: answer.failure = TransportError(.connectionLost)
        default:
            let isFramed = answer.head?.headers.contains(name: "Content-Length") == true
            let isChunked = answer.head?.headers.contains(name: "Transfer-Encoding") == true
            // A client can tell that a framed body is incomplete, but not one that ends with the connection.
            if isFramed || isChunked && world.once(in: 2) {
                answer.failure = TransportError(.connectionLost)
            } else if answer.head?.status == 200 {
                noteCut(answer.body)
            }
        }
        return answer
    }
}
