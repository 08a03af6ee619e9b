/// What a request asks for, and what is already known about the answer.
struct RangeQuestion: Sendable, Equatable {
    /// How the server is told to send the range only if nothing changed (RFC 9110 §13.1.5).
    enum Condition: Sendable, Equatable {
        case none
        case ifRange(String)
    }

    /// Bytes from here on are wanted; 0 asks for the whole representation, without a Range header.
    var offset: Int64
    /// So many bytes before `offset` are asked for again and compared with those on disk.
    var overlap: Int64
    var condition: Condition
    /// What earlier answers said; nil for the first request and when everything starts over.
    var known: Resource?
    /// The URL is another one than the earlier bytes came from: no validator alone proves them equal.
    var isFromReplacedSource: Bool

    static let whole = RangeQuestion(offset: 0, overlap: 0, condition: .none, known: nil, isFromReplacedSource: false)

    /// First byte position asked for.
    var first: Int64 { offset - overlap }
    var asksForRange: Bool { offset > 0 }

    /// The validator ladder: how to go on at `offset` in a representation of which this much is known.
    ///
    /// - Parameters:
    ///   - resumesUnverified: whether bytes may be joined although the server names no version at all.
    ///   - isPlain: drops the condition, for servers that answer conditional ranges wrongly.
    static func resuming(
        _ resource: Resource,
        at offset: Int64,
        resumesUnverified: Bool,
        isPlain: Bool = false,
        isFromReplacedSource: Bool = false
    ) -> RangeQuestion {
        let overlap = min(offset, overlapLength)
        var question = RangeQuestion(
            offset: offset,
            overlap: overlap,
            condition: .none,
            known: resource,
            isFromReplacedSource: isFromReplacedSource
        )
        guard offset > 0, resource.hasUsableRanges, resource.contentCoding == nil else { return .whole }
        let validator = resource.validator
        guard !isFromReplacedSource else { return validator.isEmpty && !resumesUnverified ? .whole : question }
        if let tag = validator.strongTag {
            question.overlap = 0
            question.condition = isPlain ? .none : .ifRange(tag.text)
        } else if let date = validator.lastModified, validator.lastModifiedIsStrong, validator.entityTag == nil {
            question.condition = isPlain ? .none : .ifRange(date)
        } else if validator.isEmpty && !resumesUnverified {
            return .whole
        }
        return question
    }

    /// How many bytes are compared where no strong validator vouches for them.
    static let overlapLength: Int64 = 16 * 1024
}
