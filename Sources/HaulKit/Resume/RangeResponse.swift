internal import Foundation
internal import NIOHTTP1

/// The judgement of a response head against what was asked: may this body be written, and where.
enum RangeResponse: Sendable, Equatable {
    /// The body continues what is there; its first `compare` bytes must equal those on disk before `at`.
    case accept(Resource, at: Int64, compare: Int64)
    /// The body is the whole representation from byte 0; what is on disk is of no use any more.
    case restart(Resource, StartOver?)
    /// Nothing is missing: the server says that the representation ends where we are.
    case alreadyComplete(Resource)
    /// The server mishandled the condition, or its answer names no version: ask once more without it.
    case askWithoutCondition
    /// Nothing but bytes can show that the answer is of the version that is here: compare blocks of them first.
    case compareFirst
    /// This body is of no use; ask for the whole representation.
    case startOver(StartOver)
    /// The server did not send the file.
    case refuse(Refusal)

    /// Why the bytes on disk cannot be continued.
    enum StartOver: String, Sendable, Hashable, Codable {
        /// Another version stands at the URL.
        case changed
        /// The server does not do ranges, or does them wrongly.
        case noUsableRange
    }

    enum Refusal: Sendable, Equatable {
        case status(Int)
        /// A web page came where the file was expected: a login page, a captive portal.
        case webPage
        case malformed(String)
        /// The file has another size than the one that was to be downloaded.
        case otherSize(expected: Int64, actual: Int64)
        /// The file has a size that its pieces do not make up.
        case otherPieces(actual: Int64)
    }

    /// What a good answer said of the representation.
    var resource: Resource? {
        switch self {
        case .accept(let resource, _, _), .restart(let resource, _), .alreadyComplete(let resource): resource
        case .askWithoutCondition, .compareFirst, .startOver, .refuse: nil
        }
    }

    static func judge(_ head: ResponseHead, to question: RangeRequest, after earlier: Resource? = nil) -> RangeResponse
    {
        switch head.status {
        case 200, 203: whole(head, to: question, after: question.known ?? earlier)
        case 206: part(head, to: question)
        case 416 where question.goesOn: unsatisfied(head, to: question)
        case 412 where question.goesOn: .startOver(.changed)
        default: .refuse(.status(head.status))
        }
    }

    private static func whole(_ head: ResponseHead, to question: RangeRequest, after earlier: Resource?)
        -> RangeResponse
    {
        let resource = Resource(whole: head)
        // A page without the file's own tag, where the file was no page: somebody stands between us and the server.
        if let earlier, head.isWebPage, earlier.contentType != head.mediaType,
            earlier.validator.compare(resource.validator) != .same
        {
            return .refuse(.webPage)
        }
        if carriesPartOnly(head, question) {
            return question.sendsRange
                ? .startOver(.noUsableRange) : .refuse(.malformed("200 with the Content-Range of a part"))
        }
        guard question.goesOn, let known = question.known else {
            return looksLikeLoginPage(head) ? .refuse(.webPage) : .accept(resource, at: 0, compare: 0)
        }
        let sameLength = known.total == nil || resource.total == nil || known.total == resource.total
        switch known.validator.compare(resource.validator) {
        case .same where sameLength && !question.sendsRange, .maybe where sameLength && !question.sendsRange:
            // The question began at byte 0 and so carried no Range header: this answer says nothing about ranges.
            return .restart(resource, nil)
        case .same where sameLength && question.condition != .none:
            return .askWithoutCondition
        case .same where !sameLength:
            // One version has one length: this is something else, a part of it perhaps.
            return .startOver(.noUsableRange)
        case .same where known.total == nil || resource.total == nil,
            .maybe where resource.total == nil:
            // It may be the rest alone, and no length would show it: the answer to a plain request is what it says.
            return .startOver(.noUsableRange)
        case .maybe where !sameLength && question.sendsRange && known.validator.agrees(with: resource.validator):
            // As said of one version, if of a weak name: before bytes are dropped for it, it is asked for as a whole.
            return .startOver(.changed)
        case .same where sameLength, .maybe where sameLength:
            return .restart(withoutRanges(resource), .noUsableRange)
        default:
            return .restart(resource, .changed)
        }
    }

    /// Whether a 200 is likely to carry only what was asked for, or says so.
    private static func carriesPartOnly(_ head: ResponseHead, _ question: RangeRequest) -> Bool {
        if head.headers.contains(name: "Content-Range") {
            switch head.contentRange {
            case .satisfied(let range, let complete):
                let isWhole = range.lower == 0 && range.upper == complete ?? range.upper
                if !isWhole || (head.contentLength ?? range.upper) != range.upper { return true }
            case .unsatisfied(let complete):
                if (head.contentLength ?? complete) != complete { return true }
            // In the answer to a plain request it says nothing.
            case nil: if question.sendsRange { return true }
            }
        }
        guard question.sendsRange, let total = question.known?.total, let length = head.contentLength else {
            return false
        }
        return length != total && [question.end ?? total, total].contains { $0 - question.first == length }
    }

    private static func part(_ head: ResponseHead, to question: RangeRequest) -> RangeResponse {
        guard question.goesOn else { return .refuse(.malformed("206 to a request without a range")) }
        guard let known = question.known else { return .startOver(.noUsableRange) }
        guard case .satisfied(let range, let complete)? = head.contentRange, range.lower == question.first,
            head.contentCoding == nil, head.mediaType != "multipart/byteranges"
        else { return .startOver(.noUsableRange) }
        if let complete, let total = known.total, complete != total { return .startOver(.changed) }
        // Without a length of the whole, the answer must at least not lie beyond the end that we know.
        if let total = known.total, range.upper > total { return .startOver(.changed) }
        if let length = head.contentLength, length != range.count { return .startOver(.noUsableRange) }
        // There is more of it here than there is of it.
        if let complete, question.offset > complete { return .startOver(.changed) }
        if question.isComparison {
            // A part of a block compares nothing of the rest of it.
            if range.upper < question.offset { return .startOver(.noUsableRange) }
        } else if let total = known.total ?? complete, range.upper <= question.offset, question.offset < total {
            // A range that ends where we are, in a longer whole: asking again would only bring the same again.
            return .startOver(.noUsableRange)
        }

        var resource = known
        resource.total = known.total ?? complete
        resource.isFramed = head.isFramed
        var terms = question.terms
        if terms.source == .sameURL, !known.isServed(by: head) { terms.source = .redirectedElsewhere }
        // Only the first server's word on its file counts.
        resource.digest =
            known.digest ?? (question.source != 0 || terms.source != .sameURL ? nil : head.digest)
        let named = Validator(head)
        let decision = terms.decision(
            from: known.validator,
            to: named,
            overlap: question.overlap,
            isSameLength: complete != nil && complete == known.total
        )
        resource.validator = terms.name(known.validator, named)
        resource.redirectedTo = head.redirectedTo
        let isCompared = question.isCompared || question.isComparison || question.overlap == question.offset
        switch decision {
        case .changed: return .startOver(.changed)
        case .join: return .accept(resource, at: question.offset, compare: question.overlap)
        // That it looked at the condition is not proven by a 206; and it may have left out what was in the condition, which it
        // must not in the answer to a plain request (RFC 9110 §15.3.7).
        case .joinIfBlocksAgree where question.condition != .none, .unnamed where question.condition != .none:
            return .askWithoutCondition
        // Blocks were compared before, or the answer reaches back to the first byte.
        case .joinIfBlocksAgree where isCompared:
            return .accept(resource, at: question.offset, compare: question.overlap)
        case .joinIfBlocksAgree: return .compareFirst
        case .unnamed: return .startOver(.noUsableRange)
        }
    }

    private static func unsatisfied(_ head: ResponseHead, to question: RangeRequest) -> RangeResponse {
        guard case .unsatisfied(let complete)? = head.contentRange, var known = question.known else {
            return .startOver(.noUsableRange)
        }
        // With an overlap the first byte asked for exists, so that a server that has them all would have answered 206.
        guard complete == question.offset, question.overlap == 0, known.total == nil || known.total == complete,
            known.validator.compare(Validator(head)) != .different
        else { return .startOver(.changed) }
        guard question.terms.hasDigest || known.isServed(by: head) || question.terms.source != .sameURL else {
            return .startOver(.changed)
        }
        guard question.terms.hasDigest || known.validator.isProven(by: Validator(head)) else {
            return question.condition == .none ? .startOver(.changed) : .askWithoutCondition
        }
        known.total = complete
        return .alreadyComplete(known)
    }

    private static func withoutRanges(_ resource: Resource) -> Resource {
        var resource = resource
        resource.hasUsableRanges = false
        return resource
    }

    /// A first answer that is a page although the URL named another kind of file, after a redirect to a differently
    /// named place: what captive portals and expired sessions do.
    private static func looksLikeLoginPage(_ head: ResponseHead) -> Bool {
        guard head.isRedirected, head.isWebPage else { return false }
        let asked = FileName.lastBytes(inPathOf: head.requested)
        let pages: Set = ["html", "htm", "xhtml", "php", "asp", "aspx", "jsp", "cgi", "do", "pl"]
        guard let dot = asked.lastIndex(of: UInt8(ascii: ".")), dot > asked.startIndex else { return false }
        let ending = String(decoding: asked[(dot + 1)...], as: UTF8.self).lowercased()
        return !ending.isEmpty && !pages.contains(ending) && FileName.lastBytes(inPathOf: head.url) != asked
    }
}
