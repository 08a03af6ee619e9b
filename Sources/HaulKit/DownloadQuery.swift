public import Foundation

/// Selects downloads, their order and one page of them. A property that is `nil` does not restrict the selection. The
/// store answers queries, so that the cost does not grow with the number of downloads in memory.
///
/// ```swift
/// let page = try await downloader.list(DownloadQuery(states: [.failed], group: "Swift course", limit: 50))
/// ```
public struct DownloadQuery: Sendable, Hashable {
    /// The property that a list is sorted by, ascending unless ``DownloadQuery/isDescending`` is set.
    public enum Order: String, Sendable, Hashable, CaseIterable {
        /// By the order in which downloads were added.
        case added
        /// By the order in which the queue starts them: higher priority first, then position.
        case queue
        /// By the end of the last run; downloads without an end first.
        case ended
        /// By path, or by URL where the path is not known yet; ASCII letters compare without case.
        case path
        /// By complete length; unknown lengths first.
        case size
    }

    /// States to match; `nil` for all. A cancelled download has no record, so that ``DownloadSnapshot/State/cancelled``
    /// matches nothing.
    public var states: Set<DownloadSnapshot.State>?
    /// The group to match (``DownloadRequest/group``); `nil` for all.
    public var group: String?
    /// The owner to match (``DownloadRequest/owner``); `nil` for all.
    public var owner: String?
    /// Keys to match (``DownloadRequest/key``); `nil` for all, an empty set for none.
    public var keys: Set<String>?
    /// Text that occurs in the request's URL, the path or the key. ASCII letters match without case, as with SQLite's
    /// LIKE.
    public var text: String?
    /// Time at which the download was added, upper bound excluded; `nil` for any.
    public var added: Range<Date>?
    /// Time at which the last run ended, upper bound excluded; `nil` for any. A range excludes downloads that have not
    /// ended.
    public var ended: Range<Date>?
    /// The order of the list. Default: ``Order/added``.
    public var order: Order
    /// Reverses the order. Default: `false`.
    public var isDescending: Bool
    /// Number of matching downloads to skip. Default: 0; a negative number counts as 0.
    public var offset: Int
    /// Largest number of downloads to return; `nil` for no limit. A negative number counts as 0.
    public var limit: Int?

    /// Makes a query. Without arguments it matches every download, in the order of adding.
    public init(
        states: Set<DownloadSnapshot.State>? = nil,
        group: String? = nil,
        owner: String? = nil,
        keys: Set<String>? = nil,
        text: String? = nil,
        added: Range<Date>? = nil,
        ended: Range<Date>? = nil,
        order: Order = .added,
        isDescending: Bool = false,
        offset: Int = 0,
        limit: Int? = nil
    ) {
        self.states = states
        self.group = group
        self.owner = owner
        self.keys = keys
        self.text = text
        self.added = added
        self.ended = ended
        self.order = order
        self.isDescending = isDescending
        self.offset = offset
        self.limit = limit
    }
}

/// The downloads that one call pauses, resumes, cancels, removes or gives a priority.
///
/// With ``Downloader/Configuration/Restoration/onRequest``, pause, resume, retry, cancel and remove skip the downloads that
/// another live process owns.
public struct DownloadSelection: Sendable {
    enum Kind: Sendable {
        case query(DownloadQuery)
        case ids([DownloadID])
        case predicate(@Sendable (DownloadSnapshot) -> Bool)
    }
    let kind: Kind

    /// Every download.
    public static let all = DownloadSelection(kind: .query(DownloadQuery()))
    /// The downloads with these ids; unknown ids are ignored.
    public static func ids(_ ids: [DownloadID]) -> Self { .init(kind: .ids(ids)) }
    /// The downloads with these keys (``DownloadRequest/key``); unknown keys are ignored.
    public static func keys(_ keys: Set<String>) -> Self { .init(kind: .query(DownloadQuery(keys: keys))) }
    /// The downloads of a group (``DownloadRequest/group``).
    public static func group(_ name: String) -> Self { .init(kind: .query(DownloadQuery(group: name))) }
    /// The downloads of an owner (``DownloadRequest/owner``).
    public static func owner(_ name: String) -> Self { .init(kind: .query(DownloadQuery(owner: name))) }
    /// The downloads that a query returns. Order, offset and limit apply: the first fifty that failed, for example.
    public static func matching(_ query: DownloadQuery) -> Self { .init(kind: .query(query)) }
    /// The downloads for which a predicate returns `true`. Reads every download of the store, 1,000 at a time; the
    /// store answers the other selections without that.
    public static func `where`(_ predicate: @escaping @Sendable (DownloadSnapshot) -> Bool) -> Self {
        .init(kind: .predicate(predicate))
    }
}
