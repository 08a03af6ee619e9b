internal import Foundation

/// How far the comparison of blocks has come that precedes a resume over a version without a strong name.
struct VersionComparison: Sendable, Equatable {
    /// Names one choice of blocks, as a connection's id names a request.
    struct ChoiceID: Sendable, Hashable, Codable { let number: Int }

    /// Blocks that are still to be compared; nil before they have been chosen.
    private(set) var left: [Range<Int64>]?
    /// An answer named no version, and only bytes can show that it is the known one.
    private(set) var isWanted = false
    /// Bytes that were on disk when a resume followed the last comparison of this run.
    private var lastCount: Int64?
    /// Where the blocks are compared with.
    private var place: URL?
    /// The path that answered for the blocks compared so far, after redirects.
    private var answeringPath: String?
    /// How that answer named the version.
    private var answeringValidator: Validator?
    /// How often redirects led to another place between two blocks, or to another version.
    private var detours = 0
    private var choices = 0
    private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed ^ 0xB10C) }

    /// What was compared with one place says nothing about another; a fresh link to the same place continues it.
    mutating func aim(at url: URL) {
        if place != url.place { (left, answeringPath, answeringValidator) = (nil, nil, nil) }
        place = url.place
    }

    /// Which blocks to choose from, at other places each time, so that repeated resumes compare more and more of the file.
    mutating func plan(_ persisted: PersistedRanges, besides tail: Range<Int64>) -> (ChoiceID, ComparisonPlan) {
        choices += 1
        let fresh = lastCount.map { max(0, persisted.count - $0) }
        let plan = ComparisonPlan(of: persisted.written, besides: tail, since: fresh, seed: random.next())
        return (ChoiceID(number: choices), plan)
    }

    /// A block was answered, or the rest after all blocks: all of them have to come from one path, wherever redirects lead, and to be
    /// of one version.
    ///
    /// - Returns: false when this one comes from another path than those before it, or is of another version: the comparison
    ///   begins again.
    mutating func isAnswered(from head: ResponseHead) -> Bool {
        let path = head.url.path(percentEncoded: true)
        let validator = Validator(head)
        defer { (answeringPath, answeringValidator) = (path, validator) }
        let isOtherVersion = answeringValidator.map { $0.compare(validator) == .different } ?? false
        guard let before = answeringPath, before != path || isOtherVersion else { return true }
        left = nil
        detours += 1
        return false
    }

    /// Whether redirects lead elsewhere each time, so that nothing can be compared.
    var isAstray: Bool { detours > Self.mostDetours }
    private static let mostDetours = 4

    mutating func choose(_ blocks: [Range<Int64>]) { left = blocks }
    mutating func noteAgreed() { left?.removeFirst() }
    /// Time goes by before the request that follows: what agreed may be another version by then.
    mutating func noteRest() { if left == [] { left = nil } }
    mutating func want() { isWanted = true }

    /// Bytes are joined, or a version is begun: the next resume compares again.
    mutating func finish(at count: Int64?) {
        if count == nil || left != nil { lastCount = count }
        (left, isWanted, answeringPath, answeringValidator, detours) = (nil, false, nil, nil, 0)
    }
}
