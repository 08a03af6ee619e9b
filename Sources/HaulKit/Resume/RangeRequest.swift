/// What a request asks for, and what is already known about the answer.
struct RangeRequest: Sendable, Equatable, Codable {
    /// How the server is told to send the range only if nothing changed.
    enum Condition: Sendable, Equatable, Codable {
        case none
        /// The range if it is still this version, else the whole (RFC 9110 §13.1.5).
        case ifRange(String)
        /// The range if it has still this tag, else 412 and no body (§13.1.1).
        case ifMatch(String)
        /// The range if nothing changed since this date, else 412 and no body (§13.1.4).
        case ifUnmodifiedSince(String)

        /// The header field that says it.
        var field: (name: String, value: String)? {
            switch self {
            case .none: nil
            case .ifRange(let value): ("If-Range", value)
            case .ifMatch(let value): ("If-Match", value)
            case .ifUnmodifiedSince(let value): ("If-Unmodified-Since", value)
            }
        }
    }

    /// Which of the download's sources is asked; 0 is the URL that it was asked for.
    var source = 0
    /// The number of the link that it is asked by.
    var link = 0
    /// Bytes from here on are wanted.
    var offset: Int64
    /// The byte after the last one wanted; nil for all that follow. From 0 on without an end no range is asked for.
    var end: Int64?
    /// Bytes before `offset` that are asked for again and compared with those on disk.
    var overlap: Int64
    var condition: Condition
    /// What earlier answers said; nil for the first request and when everything starts over.
    var known: Resource?
    /// Whether the answer may be joined to what is on disk.
    var terms = JoinTerms()
    /// Only a block of what is on disk is asked for, to be compared: `overlap` bytes, and nothing after them.
    var isComparison = false
    /// Blocks from all over the file have been compared with this source a moment ago.
    var isCompared = false

    static let whole = RangeRequest(offset: 0, overlap: 0, condition: .none, known: nil)

    /// First byte position asked for.
    var first: Int64 { offset - overlap }
    /// Whether something on disk is to be gone on with.
    var goesOn: Bool { offset > 0 || end != nil }
    /// Whether the request carries a Range header.
    var sendsRange: Bool { first > 0 || end != nil }
    /// Whether only bytes can show that an answer is of the version that is here, whatever it says.
    var needsComparison: Bool {
        guard goesOn, !terms.hasDigest, let known else { return false }
        return !known.validator.isStrong || terms.source != .sameURL
    }

    /// The validator ladder: how to go on at `offset` in a representation of which this much is known.
    ///
    /// - Parameters:
    ///   - end: where bytes follow that are here already.
    ///   - resumesUnverified: whether a range is asked for although the server names no version at all.
    ///   - isPlain: drops the condition, for servers that answer conditional ranges wrongly.
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
            // Where the length is not known, this may be the end: asked for plainly from before it, an answer names the version.
            question.overlap = isPlain && resource.total == nil ? overlap : 0
            question.condition = isPlain ? .none : .ifRange(tag.text)
        } else if let date = validator.lastModified, validator.lastModifiedIsStrong, validator.entityTag == nil {
            question.condition = isPlain ? .none : .ifRange(date)
        } else if validator.isEmpty && !resumesUnverified {
            return .whole
        }
        return question
    }

    /// What a further connection asks for beside those that work already: one stretch, and only of this version. A change then
    /// costs an answer without a body, not a whole file (RFC 9110 §13.2.2).
    static func further(_ range: Range<Int64>, of resource: Resource, isPlain: Bool) -> RangeRequest {
        var question = RangeRequest(
            offset: range.lowerBound,
            end: range.upperBound,
            overlap: 0,
            condition: .none,
            known: resource
        )
        if isPlain { return question }
        if let tag = resource.validator.strongTag {
            question.condition = .ifMatch(tag.text)
        } else if let date = resource.validator.lastModified, resource.validator.isStrong {
            question.condition = .ifUnmodifiedSince(date)
        }
        return question
    }

    /// Asks for one block of what is on disk, to compare it before `question` is asked.
    static func comparing(_ block: Range<Int64>, before question: RangeRequest) -> RangeRequest {
        var asked = question
        asked.offset = block.upperBound
        asked.end = block.upperBound
        asked.overlap = block.upperBound - block.lowerBound
        asked.condition = .none
        asked.isComparison = true
        return asked
    }

    /// How many bytes right before the first missing one are compared where no strong tag vouches for them.
    static let overlapLength: Int64 = 16 * 1024
}
