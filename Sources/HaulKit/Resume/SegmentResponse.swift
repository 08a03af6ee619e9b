/// The judgement of an answer to a further connection's question: one stretch of a representation that others are fetching.
///
/// Stricter than `RangeResponse`: nothing may start over here. What does not fit exactly ends this connection, not the download.
enum SegmentResponse: Sendable, Equatable {
    /// The body is the stretch that was asked for, or its beginning.
    case accept(Validator)
    /// Another version, or another length: every connection has to stop until it is clear what stands at the URL.
    case changed
    /// The server sends something else than the stretch: it cannot serve further connections.
    case noUsableRange
    /// It is not the same file, or not provably: this source is of no use.
    case otherFile
    /// The server does not want this connection, now or ever.
    case refused(status: Int)

    /// - Parameter isMirror: the source is not the one that the version is known of. A tag names versions of one resource (RFC 9110
    ///   §8.8.1), so that only a digest shows that a mirror has the same file.
    static func judge(_ head: ResponseHead, to question: RangeRequest, isMirror: Bool) -> SegmentResponse {
        guard let known = question.known, let end = question.end else { return .noUsableRange }
        let comparison = known.validator.compare(Validator(head))
        switch head.status {
        case 206: break
        case 412: return isMirror ? .otherFile : .changed
        case 200, 203: return isMirror || comparison != .different || head.isWebPage ? .noUsableRange : .changed
        case 416: return isMirror ? .otherFile : .changed
        default: return .refused(status: head.status)
        }
        guard case .satisfied(let range, let complete)? = head.contentRange, range.lower == question.offset,
            range.upper <= end, !range.isEmpty, head.contentCoding == nil, head.mediaType != "multipart/byteranges"
        else { return .noUsableRange }
        if let length = head.contentLength, length != range.count { return .noUsableRange }
        if let complete, let total = known.total, complete != total { return isMirror ? .otherFile : .changed }
        if isMirror {
            return question.terms.hasDigest && complete != nil ? .accept(Validator(head)) : .otherFile
        }
        if comparison == .different { return .changed }
        if !question.terms.hasDigest, !known.isServed(by: head) { return .noUsableRange }
        // The answer itself has to say which version it is of: that the server looked at the condition is not proven by a 206.
        let later = Validator(head)
        let isNamed = question.terms.hasDigest || known.validator.isProven(by: later)
        return isNamed ? .accept(later) : .noUsableRange
    }
}
