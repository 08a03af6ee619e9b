internal import Foundation
internal import Synchronization

/// The versions of the files that an attempt fetches ranges of. Ranges of two versions of a file do not fit together.
///
/// Any thread may call it.
final class RangedFiles: Sendable {
    private struct Version {
        /// The first entity tag, weak or strong, or else the first `Last-Modified`.
        var tag: String?
        /// Length of the whole file in bytes.
        var total: Int64?
    }
    private let versions = Mutex<[URL: Version]>([:])

    /// Compares an answer with the earlier answers for the same URL whose bytes were good.
    ///
    /// - Returns: the failure if the answer is of another version; `nil` if nothing shows that.
    func judge(_ head: ResponseHead) -> SegmentFailure? {
        versions.withLock { Self.isSame(head, $0[head.requested]) } ? nil : Self.failure(head)
    }

    /// Compares as ``judge(_:)`` does, and notes the version of an answer whose bytes were good.
    func take(_ head: ResponseHead) -> SegmentFailure? {
        let isSame = versions.withLock { versions in
            let known = versions[head.requested]
            guard Self.isSame(head, known) else { return false }
            versions[head.requested] = Version(
                tag: known?.tag ?? Self.tag(of: head),
                total: known?.total ?? Self.total(of: head)
            )
            return true
        }
        return isSame ? nil : Self.failure(head)
    }

    private static func isSame(_ head: ResponseHead, _ known: Version?) -> Bool {
        if let first = known?.tag, let tag = tag(of: head), first != tag { return false }
        if let first = known?.total, let total = total(of: head), first != total { return false }
        return true
    }

    private static func failure(_ head: ResponseHead) -> SegmentFailure {
        // A whole answer to a request for a range may be the page of an intermediary.
        guard head.status == 206 else {
            let error = DownloadError(
                .incompleteStream,
                "The segments of this stream are ranges of one file, and something else came in place of it."
            )
            return SegmentFailure(error, isWorthRetrying: true)
        }
        let error = DownloadError(
            .contentChanged,
            "The segments of this stream are ranges of one file, and \(head.url.host ?? "the server") has another version of it by now. A further attempt fetches the new version."
        )
        return SegmentFailure(error, isWorthRetrying: false)
    }

    /// Returns the tag of an answer, or else its date. An unchanged weak tag proves nothing; a changed one proves
    /// another version. The target of a redirect may have tags of its own (RFC 9110 §8.8.1), so a redirected answer
    /// counts as one without a tag.
    private static func tag(of head: ResponseHead) -> String? {
        guard !head.isRedirected else { return nil }
        let validator = Validator(head)
        return validator.entityTag?.text ?? validator.lastModified
    }

    private static func total(of head: ResponseHead) -> Int64? {
        if case .satisfied(_, let complete)? = head.contentRange { return complete }
        return head.status == 206 ? nil : head.contentLength
    }

    /// Returns the digest of an answer's version for ``StreamSegmentEnd/file``; 0 if the answer names no tag, date or
    /// length.
    static func digest(of head: ResponseHead) -> UInt64 {
        let version = tag(of: head) ?? total(of: head).map { "\($0)" }
        return version.map { StreamSegmentEnd.digest($0.utf8) } ?? 0
    }
}
