internal import Foundation

/// Progress of the comparison of blocks before a download without a strong validator is resumed.
package struct VersionComparison: Sendable, Equatable {
    /// Identifies one choice of blocks, as the id of a connection identifies a request.
    package struct ChoiceID: Sendable, Hashable, Codable { let number: Int }

    /// Blocks that still have to be compared; `nil` before they have been chosen.
    package private(set) var left: [Range<Int64>]?
    /// Whether an answer named no version, so that only a comparison of bytes can identify the version.
    package private(set) var isWanted = false
    /// Number of bytes on disk when the last comparison of this run ended; `nil` if there was none.
    private var lastCount: Int64?
    /// The source that the blocks are compared with: its URL without query, fragment and user info.
    private var place: URL?
    /// Path of the last answer, after redirects.
    private var answeringPath: String?
    /// Validator of the last answer.
    private var answeringValidator: Validator?
    /// Number of times that the answer to a block came from another path or another version than the answer before.
    private var detours = 0
    private var choices = 0
    private var random: SplitMix64

    package init(seed: UInt64) { random = SplitMix64(seed: seed ^ 0xB10C) }

    /// Sets the source to compare with. Another place restarts the comparison. Another link to the same place continues
    /// the comparison.
    mutating func aim(at url: URL) {
        if place != url.place { (left, answeringPath, answeringValidator) = (nil, nil, nil) }
        place = url.place
    }

    /// Returns the plan for the choice of blocks. Each plan chooses other positions, so that repeated resumes compare
    /// more and more of the file.
    package mutating func plan(_ persisted: PersistedRanges, besides tail: Range<Int64>) -> (ChoiceID, ComparisonPlan) {
        choices += 1
        let fresh = lastCount.map { max(0, persisted.count - $0) }
        let plan = ComparisonPlan(of: persisted.written, besides: tail, since: fresh, seed: random.next())
        return (ChoiceID(number: choices), plan)
    }

    /// Notes an answer to a block, or to the request after all blocks. All answers have to come from the same path, on
    /// whatever host redirects lead to, and have to be of one version.
    ///
    /// - Returns: `false` if this answer comes from another path than those before, or is of another version. The
    ///   comparison then begins again.
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

    /// Whether answers came from other paths or versions so often that nothing can be compared.
    var isAstray: Bool { detours > Self.mostDetours }
    private static let mostDetours = 4

    package mutating func choose(_ blocks: [Range<Int64>]) { left = blocks }
    mutating func noteAgreed() { left?.removeFirst() }
    /// Drops a finished comparison before a wait, because the version may change during the wait.
    package mutating func noteRest() { if left == [] { left = nil } }
    mutating func want() { isWanted = true }

    /// Ends the comparison when bytes are joined or a version is begun. The next resume compares again. `count` is the
    /// number of bytes on disk; `nil` if a run begins or the download starts over.
    package mutating func finish(at count: Int64?) {
        if count == nil || left != nil { lastCount = count }
        (left, isWanted, answeringPath, answeringValidator, detours) = (nil, false, nil, nil, 0)
    }
}
