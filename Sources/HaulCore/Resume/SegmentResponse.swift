/// The judgement of an answer to an additional connection. Such a connection requests one range of a representation,
/// while others fetch the rest.
///
/// Stricter than `RangeResponse`, because nothing may start over here. An answer that does not fit exactly ends this
/// connection, not the download.
enum SegmentResponse: Sendable, Equatable {
    /// The body is the requested range, or its beginning.
    case accept(Validator)
    /// Another version or another length. Every connection has to stop until it is clear which version the URL leads
    /// to.
    case changed
    /// The server sends something other than the range. It cannot serve additional connections.
    case noUsableRange
    /// Only with `isMirror`: the source has another file, or nothing proves that its file is the same. The source is of
    /// no use.
    case otherFile
    /// The server refuses this connection, for now or for good.
    case refused(status: Int)

    /// - Parameter isMirror: whether another source than the answering one named the known version. A tag names
    ///   versions of one resource (RFC 9110 §8.8.1), so only a digest shows that a mirror has the same file.
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
        guard case .satisfied(let range, let complete)? = head.contentRange, range.lower == question.first,
            range.upper <= end, range.upper > question.offset, head.contentCoding == nil,
            head.mediaType != "multipart/byteranges"
        else { return .noUsableRange }
        if let length = head.contentLength, length != range.count { return .noUsableRange }
        if let complete, let total = known.total, complete != total { return isMirror ? .otherFile : .changed }
        if isMirror {
            return question.terms.hasDigest && complete != nil ? .accept(Validator(head)) : .otherFile
        }
        if comparison == .different { return .changed }
        if !question.terms.hasDigest, !known.isServed(by: head) { return .noUsableRange }
        // The answer itself has to name its version, because a 206 does not prove that the server evaluated the
        // condition.
        let later = Validator(head)
        if question.terms.hasDigest || known.validator.isProven(by: later) { return .accept(later) }
        // Nothing proves the version. The bytes at the seam are compared, but the answer must not say less than the
        // first one.
        let isSaidAgain = known.validator.isEmpty ? later.isEmpty : known.validator.agrees(with: later)
        let mayCompare = question.comparesSeam && !known.validator.isStrong && isSaidAgain && complete != nil
        return mayCompare ? .accept(later) : .noUsableRange
    }
}
