public import Foundation

/// The judgement of a response head: whether its body may be written, and where.
///
/// An application with its own HTTP client calls ``judge(status:fields:url:requested:to:after:)``.
public enum RangeResponse: Sendable, Equatable {
    /// The body may be written. Its first `compare` bytes must equal those on disk right before `at`; the bytes after
    /// them belong at `at`, which is 0 for the first answer of a download.
    case accept(Resource, at: Int64, compare: Int64)
    /// The body is the whole representation from byte 0. The bytes on disk are of no use any more. The reason is `nil`
    /// if the answer shows neither another version nor unusable ranges.
    case restart(Resource, StartOver?)
    /// Nothing is missing: the server says that the representation ends at the requested offset.
    case alreadyComplete(Resource)
    /// The server mishandled the condition, or its answer names no version. The next request must be the same one
    /// without its condition; see `isPlain` of ``RangeRequest/resuming(_:at:isPlain:)``.
    case askWithoutCondition
    /// Only a comparison of bytes can show that the answer is of the version on disk. `Downloader` compares blocks on
    /// disk with the server's bytes before it sends the request again. An application that compares no blocks must send
    /// ``RangeRequest/whole`` instead.
    case compareFirst
    /// The body is of no use. The next request must be ``RangeRequest/whole``.
    case startOver(StartOver)
    /// The server did not send the file.
    case refuse(Refusal)

    /// Reason why the bytes on disk cannot be continued.
    public enum StartOver: String, Sendable, Hashable, Codable {
        /// The URL leads to another version.
        case changed
        /// The server does not support ranges, or answers them wrongly.
        case noUsableRange
    }

    /// Reason why no byte of the body may be written.
    public enum Refusal: Sendable, Equatable {
        /// A status that brings no file.
        case status(Int)
        /// A web page came instead of the file: a login page, a captive portal.
        case webPage
        /// The answer contradicts itself or the request; the text says how.
        case malformed(String)
        /// The size of the file in bytes differs from the expected one. Only `Downloader` gives this reason and
        /// ``otherPieces(actual:)``.
        case otherSize(expected: Int64, actual: Int64)
        /// The file has a size in bytes that its pieces do not add up to.
        case otherPieces(actual: Int64)
    }

    /// The representation that a usable answer describes; `nil` for any other answer.
    package var resource: Resource? {
        switch self {
        case .accept(let resource, _, _), .restart(let resource, _), .alreadyComplete(let resource): resource
        case .askWithoutCondition, .compareFirst, .startOver, .refuse: nil
        }
    }

    /// Judges the head of an answer that an application's own client received.
    ///
    /// - Parameters:
    ///   - status: status of the final response, not that of a redirect.
    ///   - fields: field lines of that response, in any order. Names match without case.
    ///   - url: the URL that answered, after redirects.
    ///   - requested: the URL that was requested first; `nil` if there was no redirect. The target of a redirect is a
    ///     resource of its own, whose tag may be the same by chance (RFC 9110 §8.8.1).
    ///   - request: the request that the response answers.
    ///   - earlier: version of the bytes on disk, if there are any and `request` asks for the whole.
    public static func judge(
        status: Int,
        fields: [(name: String, value: String)],
        url: URL,
        requested: URL? = nil,
        to request: RangeRequest,
        after earlier: Resource? = nil
    ) -> RangeResponse {
        let headers = HeaderFields(fields.map { ($0.name, $0.value) })
        let head = ResponseHead(status: status, headers: headers, url: url, requested: requested ?? url)
        return judge(head, to: request, after: earlier)
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
        // The known file is no web page, and this page does not have the strong tag of the file. So another machine on
        // the way probably sent the page, for example a captive portal.
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
            return looksLikeLoginPage(head)
                ? .refuse(.webPage) : .accept(resource.withLength(of: earlier), at: 0, compare: 0)
        }
        let sameLength = known.total == nil || resource.total == nil || known.total == resource.total
        switch known.validator.compare(resource.validator) {
        // The reader of a stream may begin a new log by itself, for example for the playlist of another source.
        case .same where head.isStreamLog: return .restart(resource, nil)
        case .same where sameLength && !question.sendsRange, .maybe where sameLength && !question.sendsRange:
            // The request began at byte 0 and had no Range header field, so this answer says nothing about ranges.
            return .restart(resource.withLength(of: earlier), nil)
        case .same where sameLength && question.condition != .none:
            return .askWithoutCondition
        case .same where !sameLength:
            // One version has one length, so the body is something else, perhaps a part.
            return .startOver(.noUsableRange)
        case .same where known.total == nil || resource.total == nil,
            .maybe where resource.total == nil:
            // The body may be the rest alone, and no length would show it. The answer to a request without a range is
            // certainly the whole file.
            return .startOver(.noUsableRange)
        case .maybe where !sameLength && question.sendsRange && known.validator.agrees(with: resource.validator):
            // The validators agree, but are weak, and the lengths differ. Requests the whole file before the bytes on
            // disk are dropped.
            return .startOver(.changed)
        case .same where sameLength, .maybe where sameLength:
            return .restart(withoutRanges(resource), .noUsableRange)
        default:
            return .restart(resource, .changed)
        }
    }

    /// Returns whether a 200 is likely to carry only the requested range, or says that it does.
    private static func carriesPartOnly(_ head: ResponseHead, _ question: RangeRequest) -> Bool {
        if head.headers.contains(name: "Content-Range") {
            switch head.contentRange {
            case .satisfied(let range, let complete):
                let isWhole = range.lower == 0 && range.upper == complete ?? range.upper
                if !isWhole || (head.contentLength ?? range.upper) != range.upper { return true }
            case .unsatisfied(let complete):
                if (head.contentLength ?? complete) != complete { return true }
            // In the answer to a request without a range, a malformed field says nothing.
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
        // Even if the answer gives no complete length, its range must not exceed the known length.
        if let total = known.total, range.upper > total { return .startOver(.changed) }
        if let length = head.contentLength, length != range.count { return .startOver(.noUsableRange) }
        // The disk has more bytes than the file, so the file is another version.
        if let complete, question.offset > complete { return .startOver(.changed) }
        if question.isComparison {
            // An answer with only a part of the block leaves the rest of the block uncompared.
            if range.upper < question.offset { return .startOver(.noUsableRange) }
        } else if let total = known.total ?? complete, range.upper <= question.offset, question.offset < total {
            // The range ends at the requested offset although the file is longer. Another request would bring the same
            // range again.
            return .startOver(.noUsableRange)
        }

        var resource = known
        resource.total = known.total ?? complete
        resource.isFramed = head.isFramed
        var terms = question.terms
        if terms.source == .sameURL, !known.isServed(by: head) { terms.source = .redirectedElsewhere }
        // Only a digest from the download's own URL counts.
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
        // A 206 does not prove that the server evaluated the condition. The server may also have left out the validator
        // that the condition named, but must send it in the answer to a plain request (RFC 9110 §15.3.7).
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
        // With an overlap, the first requested byte exists, so a server that has all bytes would have answered 206.
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

    /// Returns whether a first answer is a web page although the URL named another kind of file, after a redirect to a
    /// place with another name. Captive portals and expired sessions cause this.
    private static func looksLikeLoginPage(_ head: ResponseHead) -> Bool {
        guard head.isRedirected, head.isWebPage else { return false }
        let asked = FileName.lastBytes(inPathOf: head.requested)
        let pages: Set = ["html", "htm", "xhtml", "php", "asp", "aspx", "jsp", "cgi", "do", "pl"]
        guard let dot = asked.lastIndex(of: UInt8(ascii: ".")), dot > asked.startIndex else { return false }
        let ending = String(decoding: asked[(dot + 1)...], as: UTF8.self).lowercased()
        return !ending.isEmpty && !pages.contains(ending) && FileName.lastBytes(inPathOf: head.url) != asked
    }
}
