/// A request for a range, with its condition and the facts known from earlier answers.
///
/// ``whole`` and ``resuming(_:at:isPlain:)`` make requests; ``RangeResponse`` judges the answer.
public struct RangeRequest: Sendable, Equatable, Codable {
    /// The condition under which the server sends the range.
    package enum Condition: Sendable, Equatable, Codable {
        case none
        /// Requests the range if this is still the validator, else the whole representation (RFC 9110 §13.1.5).
        case ifRange(String)
        /// Requests the range if this is still the entity tag, else 412 and no body (RFC 9110 §13.1.1).
        case ifMatch(String)
        /// Requests the range if nothing has changed since this date, else 412 and no body (RFC 9110 §13.1.4).
        case ifUnmodifiedSince(String)

        /// The header field of the condition; `nil` if there is no condition.
        package var field: (name: String, value: String)? {
            switch self {
            case .none: nil
            case .ifRange(let value): ("If-Range", value)
            case .ifMatch(let value): ("If-Match", value)
            case .ifUnmodifiedSince(let value): ("If-Unmodified-Since", value)
            }
        }
    }

    /// Index of the source that is asked; 0 is the download's own URL.
    package var source = 0
    /// ``ExpiringURL/number`` when the request was made. The download's own URL may have been replaced since.
    package var link = 0
    /// Offset of the first wanted byte.
    package var offset: Int64
    /// Offset behind the last wanted byte; `nil` for all bytes that follow. A request from byte 0 without an end asks
    /// for no range.
    package var end: Int64?
    /// Number of bytes before `offset` that are requested again and compared with those on disk.
    package var overlap: Int64
    package var condition: Condition
    /// Properties of the resource from earlier answers; `nil` for the first request and if everything starts over.
    package var known: Resource?
    /// The terms for joining the answer to the bytes on disk.
    var terms = JoinTerms()
    /// Whether the request asks only for bytes that are on disk too, to compare them with those on disk.
    var isComparison = false
    /// Whether blocks from all over the file have just been compared with this source.
    var isCompared = false
    /// Whether the request is one of an additional connection under a weak validator. Its overlap is compared with the
    /// bytes of the connection that brings them, whichever comes first.
    var comparesSeam: Bool {
        get { isAtSeam ?? false }
        set { isAtSeam = newValue ? true : nil }
    }
    /// `nil` means `false`: recorded runs of earlier builds have no value.
    private var isAtSeam: Bool?

    /// The request for the whole representation: the first request, and the one that starts over.
    public static let whole = RangeRequest(offset: 0, overlap: 0, condition: .none, known: nil)

    /// Offset of the first requested byte.
    package var first: Int64 { offset - overlap }
    /// Whether the request continues something on disk.
    package var goesOn: Bool { offset > 0 || end != nil }
    /// Whether the request carries a Range header.
    var sendsRange: Bool { first > 0 || end != nil }
    /// Whether only a comparison of bytes can show that an answer is of the version on disk, whatever the answer says.
    var needsComparison: Bool {
        guard goesOn, !terms.hasDigest, let known else { return false }
        return !known.validator.isStrong || terms.source != .sameURL
    }

    /// Returns the request that continues a download, for an application with its own client. The validator of the
    /// bytes on disk decides the condition.
    ///
    /// - Parameters:
    ///   - resource: version of the bytes on disk, from the answer that brought them.
    ///   - offset: number of bytes on disk, from byte 0 without a gap.
    ///   - isPlain: whether to leave out the condition, after the answer ``RangeResponse/askWithoutCondition``.
    /// - Returns: ``whole`` if nothing can be continued: `offset` is 0, the server names no version, its ranges cannot
    ///   be trusted, or the body has a content coding.
    public static func resuming(_ resource: Resource, at offset: Int64, isPlain: Bool = false) -> RangeRequest {
        resuming(resource, at: offset, resumesUnverified: false, isPlain: isPlain)
    }

    /// The header fields that the request needs beside those of the application: `Accept-Encoding: identity`, because
    /// ranges count bytes after content coding (RFC 9110 §8.4, §14.2), then `Range` and its condition, if any.
    public var headerFields: [HeaderField] {
        Self.fields(from: first, to: end, condition).compactMap { HeaderField($0.name, $0.value) }
    }

    /// Returns the fields of ``headerFields`` for a range.
    ///
    /// - Parameter end: position behind the last wanted byte; `nil` for all bytes that follow.
    package static func fields(
        from first: Int64,
        to end: Int64?,
        _ condition: Condition
    ) -> [(name: String, value: String)] {
        var fields = [(name: "Accept-Encoding", value: "identity")]
        guard first > 0 || end != nil else { return fields }
        fields.append((name: "Range", value: "bytes=\(first)-\(end.map { "\($0 - 1)" } ?? "")"))
        if let (name, value) = condition.field { fields.append((name: name, value: value)) }
        return fields
    }

    /// Returns the request that continues `resource` at `offset`, with the strongest condition that its validator
    /// allows (the ladder in docs/design/resume.md).
    ///
    /// - Parameters:
    ///   - end: offset of the first byte on disk behind the gap; `nil` if no byte on disk follows the gap.
    ///   - resumesUnverified: whether to request a range although the server names no version at all.
    ///   - isPlain: whether to leave out the condition, for servers that answer conditional ranges wrongly.
    static func resuming(
        _ resource: Resource,
        at offset: Int64,
        until end: Int64? = nil,
        resumesUnverified: Bool,
        isPlain: Bool = false,
        _ terms: JoinTerms = JoinTerms()
    ) -> RangeRequest {
        let overlap = min(offset, overlapLength)
        var question = RangeRequest(
            offset: offset,
            end: end,
            overlap: overlap,
            condition: .none,
            known: resource,
            terms: terms
        )
        guard question.goesOn, resource.hasUsableRanges, resource.contentCoding == nil else { return .whole }
        let validator = resource.validator
        guard terms.source == .sameURL else { return validator.isEmpty && !resumesUnverified ? .whole : question }
        if let tag = validator.strongTag {
            // If the length is not known, the file may end at `offset`. A plain request that begins before `offset`
            // gets an answer that names the version.
            question.overlap = isPlain && resource.total == nil ? overlap : 0
            question.condition = isPlain ? .none : .ifRange(tag.text)
        } else if let date = validator.lastModified, validator.lastModifiedIsStrong, validator.entityTag == nil {
            question.condition = isPlain ? .none : .ifRange(date)
        } else if validator.isEmpty && !resumesUnverified {
            return .whole
        }
        return question
    }

    /// Returns the request of an additional connection for one range. A strong validator becomes the condition unless
    /// `isPlain` is `true`. If the version has changed, the server then answers without a body instead of with the
    /// whole file (RFC 9110 §13.2.2).
    ///
    /// - Parameter comparesSeam: whether to request the bytes before the range too, which another connection brings.
    package static func further(
        _ range: Range<Int64>,
        of resource: Resource,
        isPlain: Bool,
        comparesSeam: Bool = false
    ) -> RangeRequest {
        var question = RangeRequest(
            offset: range.lowerBound,
            end: range.upperBound,
            overlap: comparesSeam ? min(range.lowerBound, overlapLength) : 0,
            condition: .none,
            known: resource
        )
        question.comparesSeam = comparesSeam
        if isPlain || comparesSeam { return question }
        if let tag = resource.validator.strongTag {
            question.condition = .ifMatch(tag.text)
        } else if let date = resource.validator.lastModified, resource.validator.isStrong {
            question.condition = .ifUnmodifiedSince(date)
        }
        return question
    }

    /// Returns the request for one block on disk, which is compared before `question` is sent.
    package static func comparing(_ block: Range<Int64>, before question: RangeRequest) -> RangeRequest {
        var asked = question
        asked.offset = block.upperBound
        asked.end = block.upperBound
        asked.overlap = block.upperBound - block.lowerBound
        asked.condition = .none
        asked.isComparison = true
        return asked
    }

    /// Number of bytes right before the first wanted one that are compared if no strong validator vouches for them.
    static let overlapLength: Int64 = 16 * 1024
}
