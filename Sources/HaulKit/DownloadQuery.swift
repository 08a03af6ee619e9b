public import Foundation

/// Which downloads, in what order, and which page of them. Answered by the store, so that it costs the same however many there
/// are; what is left `nil` holds for all.
///
/// ```swift
/// let page = try await downloader.list(DownloadQuery(states: [.failed], group: "Swift course", limit: 50))
/// ```
public struct DownloadQuery: Sendable, Hashable {
    public enum Order: String, Sendable, Hashable, CaseIterable {
        /// As they were added.
        case added
        /// As the queue takes them: by priority, then by their order.
        case queue
        /// As their last runs ended.
        case ended
        /// By path, without regard to case.
        case path
        /// By complete length; unknown lengths first.
        case size
    }

    public var states: Set<DownloadSnapshot.State>?
    public var group: String?
    public var owner: String?
    public var keys: Set<String>?
    /// Occurs in the URL, the path or the key; case matters in ASCII letters no more than in SQLite's LIKE.
    public var text: String?
    public var added: Range<Date>?
    public var ended: Range<Date>?
    public var order: Order
    public var isDescending: Bool
    public var offset: Int
    public var limit: Int?

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

/// Downloads that something is done to together.
public struct DownloadSelection: Sendable {
    enum Kind: Sendable {
        case query(DownloadQuery)
        case ids([DownloadID])
        case predicate(@Sendable (DownloadSnapshot) -> Bool)
    }
    let kind: Kind

    public static let all = DownloadSelection(kind: .query(DownloadQuery()))
    public static func ids(_ ids: [DownloadID]) -> Self { .init(kind: .ids(ids)) }
    public static func keys(_ keys: Set<String>) -> Self { .init(kind: .query(DownloadQuery(keys: keys))) }
    public static func group(_ name: String) -> Self { .init(kind: .query(DownloadQuery(group: name))) }
    public static func owner(_ name: String) -> Self { .init(kind: .query(DownloadQuery(owner: name))) }
    /// Order, offset and limit count: the first fifty that failed, say.
    public static func matching(_ query: DownloadQuery) -> Self { .init(kind: .query(query)) }
    /// Every download is read for it: the other selections are answered by the store.
    public static func `where`(_ predicate: @escaping @Sendable (DownloadSnapshot) -> Bool) -> Self {
        .init(kind: .predicate(predicate))
    }
}
