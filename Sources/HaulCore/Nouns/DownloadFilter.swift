public import Foundation

/// Selects the downloads that a call lists, counts, sums, pauses, resumes, cancels, removes or observes. Also sets the
/// order of a list, and may limit the selection to one page.
///
/// ```swift
/// let running = try await downloader.list(.group("Swift course"))
/// try await downloader.pause(.owner("ada"))
/// let page = try await downloader.list(DownloadFilter(states: [.failed], group: "Swift course", limit: 50))
/// ```
///
/// All conditions must match. Ids, keys, groups and owners that the store does not have match nothing. A filter that
/// has no predicate is answered by the store, so its cost does not grow with the number of downloads in memory.
///
/// With ``Downloader/Configuration/Restoration/onRequest``, pause, resume, retry, cancel and remove skip the downloads
/// that another live process owns.
public struct DownloadFilter: Sendable, Hashable {
    /// The property that a list is sorted by, ascending unless the filter is descending.
    public enum Order: String, Sendable, Hashable, CaseIterable {
        /// By the order in which downloads were added.
        case added
        /// By the order in which the queue starts them: higher priority first, then position.
        case queue
        /// By the end of the last run; downloads without an end first.
        case ended
        /// By path. Before the path is known, by folder and suggested name, or by URL if no name is suggested. ASCII
        /// letters compare without case.
        case path
        /// By complete length; unknown lengths first.
        case size
        /// By bytes per second (``DownloadSnapshot/bytesPerSecond``); downloads that receive nothing come first.
        case speed
        /// By the time to the last byte (``DownloadSnapshot/timeLeft``); unknown times last.
        case timeLeft
    }

    /// States to match; `nil` for all.
    package var states: Set<DownloadSnapshot.State>?
    /// The group to match (``DownloadRequest/group``); `nil` for all.
    package var group: String?
    /// The owner to match (``DownloadRequest/owner``); `nil` for all.
    package var owner: String?
    /// Ids to match; `nil` for all, an empty set for none.
    package var ids: Set<DownloadID>?
    /// Keys to match (``DownloadRequest/key``); `nil` for all, an empty set for none.
    package var keys: Set<String>?
    /// Text that occurs in the request's URL, its suggested name, the path or the key; `nil` for any.
    package var text: String?
    /// Time at which the download was added, upper bound excluded; `nil` for any.
    package var added: Range<Date>?
    /// Time at which the last run ended, upper bound excluded; `nil` for any. A range excludes downloads that have not
    /// ended.
    package var ended: Range<Date>?
    /// A further condition, which the store cannot evaluate; `nil` for none.
    package var predicate: (@Sendable (DownloadSnapshot) -> Bool)? {
        get { assignedPredicate.value }
        set { assignedPredicate = Assigned(newValue) }
    }
    /// The order of the list. Default: ``Order/added``.
    package var order: Order
    /// Reverses the order. Default: `false`.
    package var isDescending: Bool
    /// Number of matching downloads to skip. Default: 0; a negative number counts as 0.
    package var offset: Int
    /// Largest number of downloads to return or to change; `nil` for no limit. A negative number counts as 0.
    package var limit: Int?

    private var assignedPredicate = Assigned<(@Sendable (DownloadSnapshot) -> Bool)?>(initial: nil)

    /// Makes a filter. Without arguments it matches every download, in the order of adding. A condition that is `nil`
    /// does not restrict the selection.
    ///
    /// - Parameters:
    ///   - states: states to match. ``DownloadSnapshot/State/cancelled`` matches nothing, because a cancelled download
    ///     has no record.
    ///   - group: the group to match (``DownloadRequest/group``).
    ///   - owner: the owner to match (``DownloadRequest/owner``).
    ///   - ids: ids to match; an empty set matches nothing.
    ///   - keys: keys to match (``DownloadRequest/key``); an empty set matches nothing.
    ///   - text: text that occurs in the request's URL without user info and query, in its suggested name, the path or
    ///     the key. ASCII letters match without case, as with SQLite's LIKE.
    ///   - added: time at which the download was added, upper bound excluded.
    ///   - ended: time at which the last run ended, upper bound excluded. A range excludes downloads that have not
    ///     ended.
    ///   - order: the order of the list.
    ///   - isDescending: reverses the order.
    ///   - offset: number of matching downloads to skip; a negative number counts as 0.
    ///   - limit: largest number of downloads to return or to change; `nil` for no limit. A negative number counts as
    ///     0.
    ///   - predicate: a further condition, which the store cannot evaluate. Every download that matches the other
    ///     conditions is read from the store, 1,000 at a time. Two filters with a predicate are equal only if one is a
    ///     copy of the other.
    public init(
        states: Set<DownloadSnapshot.State>? = nil,
        group: String? = nil,
        owner: String? = nil,
        ids: Set<DownloadID>? = nil,
        keys: Set<String>? = nil,
        text: String? = nil,
        added: Range<Date>? = nil,
        ended: Range<Date>? = nil,
        order: Order = .added,
        isDescending: Bool = false,
        offset: Int = 0,
        limit: Int? = nil,
        where predicate: (@Sendable (DownloadSnapshot) -> Bool)? = nil
    ) {
        self.states = states
        self.group = group
        self.owner = owner
        self.ids = ids
        self.keys = keys
        self.text = text
        self.added = added
        self.ended = ended
        self.order = order
        self.isDescending = isDescending
        self.offset = offset
        self.limit = limit
        if predicate != nil { self.predicate = predicate }
    }
}

extension DownloadFilter {
    /// Every download.
    public static let all = DownloadFilter()
    /// The downloads with these ids; unknown ids are ignored.
    public static func ids(_ ids: some Sequence<DownloadID>) -> Self { .init(ids: Set(ids)) }
    /// The downloads with these keys (``DownloadRequest/key``); unknown keys are ignored.
    public static func keys(_ keys: Set<String>) -> Self { .init(keys: keys) }
    /// The downloads of a group (``DownloadRequest/group``).
    public static func group(_ name: String) -> Self { .init(group: name) }
    /// The downloads of an owner (``DownloadRequest/owner``).
    public static func owner(_ name: String) -> Self { .init(owner: name) }
    /// The downloads in these states.
    public static func states(_ states: Set<DownloadSnapshot.State>) -> Self { .init(states: states) }
    /// The downloads for which a predicate returns `true`. Reads every download of the store, 1,000 at a time; the
    /// other filters do not.
    package static func `where`(_ predicate: @escaping @Sendable (DownloadSnapshot) -> Bool) -> Self {
        .init(where: predicate)
    }

    /// Whether offset and limit leave out no match.
    package var isWhole: Bool { limit == nil && offset <= 0 }

    /// Whether the filter matches every download.
    package var isUnrestricted: Bool { isWhole && group == nil && hasOnlyGroup }

    /// Whether no condition other than the group restricts the matches; also `true` without a group. Ignores offset and
    /// limit.
    package var hasOnlyGroup: Bool {
        states == nil && owner == nil && ids == nil && keys == nil && text == nil && added == nil && ended == nil
            && predicate == nil
    }

    /// Whether a download matches; order and page are not considered.
    package func matches(_ snapshot: DownloadSnapshot) -> Bool {
        guard states?.contains(snapshot.state) ?? true, ids?.contains(snapshot.id) ?? true else { return false }
        if let group, snapshot.group != group { return false }
        if let owner, snapshot.owner != owner { return false }
        if let keys { guard let key = snapshot.key, keys.contains(key) else { return false } }
        if let added, !added.contains(snapshot.addedAt) { return false }
        if let ended { guard let end = snapshot.endedAt, ended.contains(end) else { return false } }
        if let text {
            let wanted = Self.folded(text)
            var searches = [snapshot.url.searched, snapshot.path, snapshot.key, snapshot.suggestedName]
                .compactMap(\.self).map { (place: $0, wanted: wanted) }
            if let encoded = textInURLs { searches.append((snapshot.url.searched, Self.folded(encoded))) }
            guard text.isEmpty || searches.contains(where: { Self.folded($0.place).contains($0.wanted) }) else {
                return false
            }
        }
        return predicate?(snapshot) ?? true
    }

    /// The text as a URL has it; `nil` if that is no other text. A download that has not run yet is shown under the
    /// decoded name of its URL.
    package var textInURLs: String? {
        let encoded = text?.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed)
        return encoded == text ? nil : encoded
    }

    /// Returns the UTF-8 bytes, with ASCII letters in lower case.
    private static func folded(_ text: String) -> [UInt8] {
        text.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }
}

extension URL {
    /// The URL without user info, query and fragment. A search in these parts would reveal what is masked elsewhere.
    fileprivate var searched: String {
        let text = withoutUserInfo().absoluteString
        return String(text.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }) ?? text
    }
}
