internal import Foundation
internal import Synchronization

/// The versions of the files that an attempt fetches ranges of. Ranges of two versions make no film.
///
/// Any thread may call it.
final class RangedFiles: Sendable {
    private struct Version {
        /// Text of the first strong entity tag.
        var tag: String?
        /// Length of the whole file in bytes.
        var total: Int64?
    }
    private let versions = Mutex<[URL: Version]>([:])

    /// Compares a good answer with the earlier ones to requests for the same URL.
    ///
    /// - Returns: the failure if the answer is of another version; `nil` if nothing shows that.
    func judge(_ head: ResponseHead) -> SegmentFailure? {
        let (tag, total) = (Self.tag(of: head), Self.total(of: head))
        let isSame = versions.withLock { versions in
            let known = versions[head.requested] ?? Version()
            if let first = known.tag, let tag, first != tag { return false }
            if let first = known.total, let total, first != total { return false }
            versions[head.requested] = Version(tag: known.tag ?? tag, total: known.total ?? total)
            return true
        }
        if isSame { return nil }
        let error = DownloadError(
            .contentChanged,
            "The segments of this stream are ranges of one file, and \(head.url.host ?? "the server") has another version of it by now. A further attempt fetches the new version."
        )
        return SegmentFailure(error, isWorthRetrying: false)
    }

    /// Returns the strong tag of an answer. Another place that a redirect led to may have tags of its own (RFC 9110
    /// §8.8.1), so its answer counts as one without a tag.
    private static func tag(of head: ResponseHead) -> String? {
        guard !head.isRedirected, let tag = Validator(head).entityTag, !tag.isWeak else { return nil }
        return tag.text
    }

    private static func total(of head: ResponseHead) -> Int64? {
        if case .satisfied(_, let complete)? = head.contentRange { return complete }
        return head.status == 206 ? nil : head.contentLength
    }

    /// Returns ``StreamSegmentEnd/file`` of an answer.
    static func digest(of head: ResponseHead) -> UInt64 {
        let version = tag(of: head) ?? total(of: head).map { "\($0)" }
        return version.map { StreamSegmentEnd.digest($0.utf8) } ?? 0
    }
}
