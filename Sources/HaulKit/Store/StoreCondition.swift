internal import Foundation
internal import GRDB

/// WHERE clause of an SQL statement, with its order, page and values.
struct StoreCondition: Sendable {
    var sql = "1"
    var arguments: [String] = []
    var order = ""
    var page = ""
    /// Whether ``ids(_:)`` made the condition. Its rows are not read in parts, because each query would read the whole
    /// list of ids again.
    private(set) var namesRows = false

    static let all = StoreCondition()

    init() {}

    static func ids(_ ids: some Sequence<DownloadID>) -> Self {
        var condition = Self()
        condition.add(isIn: ids.map(\.description), "id")
        condition.namesRows = true
        return condition
    }

    /// The downloads whose file is or will be in `folder` or below it, except those of `owner`.
    static func files(in folder: String, besidesThoseOf owner: String) -> Self {
        var condition = Self()
        let below = FilePaths.join(folder, "")
        let isBelow = ["folder || '/'", "file", "partPath", "finalPath"]
            .map { "instr(\($0), ?) = 1" }.joined(separator: " OR ")
        condition.add("(\(isBelow))", below, below, below, below)
        condition.add("owner IS NOT ?", owner)
        return condition
    }

    /// Creates the condition of a filter without the filter's predicate.
    ///
    /// - Parameters:
    ///   - live: states of the active downloads. Their rows have only the status `queued`.
    ///   - measures: speeds or remaining times of the active downloads, if `filter` orders by one of these.
    init(
        _ filter: DownloadFilter,
        live: [DownloadID: DownloadSnapshot.State],
        measures: [DownloadID: Double] = [:]
    ) {
        if let states = filter.states { add(states, live: live) }
        if let group = filter.group { add("groupName = ?", group) }
        if let owner = filter.owner { add("owner = ?", owner) }
        if let ids = filter.ids { add(isIn: ids.map(\.description).sorted(), "id") }
        if let keys = filter.keys { add(isIn: keys.sorted(), "key") }
        if let text = filter.text {
            var searches = [Self.shownURL, "finalPath", "file", "key", Self.suggestedName].map { ($0, text) }
            if let encoded = filter.textInURLs { searches.append((Self.shownURL, encoded)) }
            let like = searches.map { "\($0.0) LIKE ? ESCAPE '\\'" }.joined(separator: " OR ")
            add("(\(like))", searches.map { Self.pattern(of: $0.1) })
        }
        if let added = filter.added { add(added, "createdAt") }
        if let ended = filter.ended { add(ended, "finishedAt") }
        let direction = filter.isDescending ? "DESC" : "ASC"
        let opposite = filter.isDescending ? "ASC" : "DESC"
        order =
            switch filter.order {
            case .added: "download.rowid \(direction)"
            case .queue: "priority \(opposite), position \(direction), download.rowid \(direction)"
            case .ended: "finishedAt \(direction), download.rowid \(direction)"
            case .path:
                """
                coalesce(finalPath, file, rtrim(folder, '/') || '/' || \(Self.suggestedName), url) COLLATE NOCASE
                \(direction), download.rowid \(direction)
                """
            case .size: "total \(direction), download.rowid \(direction)"
            case .speed: "\(Self.measure(measures, else: "0")) \(direction), download.rowid \(direction)"
            case .timeLeft: "\(Self.measure(measures, else: "9e99")) \(direction), download.rowid \(direction)"
            }
        if filter.limit != nil || filter.offset > 0 {
            page = " LIMIT \(max(0, filter.limit ?? .max)) OFFSET \(max(0, filter.offset))"
        }
    }

    /// Returns the pattern of LIKE for texts that contain `text`.
    private static func pattern(of text: String) -> String {
        "%" + text.replacing("\\", with: "\\\\").replacing("%", with: "\\%").replacing("_", with: "\\_") + "%"
    }

    /// Returns the SQL of a value that only active downloads have. Contains no outside value but ids and numbers.
    private static func measure(_ measures: [DownloadID: Double], else other: String) -> String {
        guard !measures.isEmpty else { return "NULL" }
        let values = measures.map { "\"\($0.key)\":\($0.value.isFinite ? $0.value : 0)" }.joined(separator: ",")
        return "coalesce(json_extract('{\(values)}', '$.\"' || download.id || '\"'), \(other))"
    }

    /// The name that a request suggests; NULL if it suggests none. Tests the text first, because parsing the JSON of
    /// each row is slow, and the text of an edited row may be no JSON.
    private static let suggestedName = """
        CASE WHEN instr(request, '"suggestedName"') > 0 AND json_valid(request)
        THEN json_extract(request, '$.suggestedName') END
        """

    /// The URL without user info, query and fragment. A search must not cover these parts, because a client that may
    /// list downloads could guess them letter by letter.
    private static let shownURL = {
        let front = "substr(url, 1, instr(url || '?', '?') - 1)"
        let plain = "substr(\(front), 1, instr(\(front) || '#', '#') - 1)"
        let scheme = "substr(url, 1, instr(url, '//') + 1)"
        let rest = "substr(\(plain), instr(url, '//') + 2)"
        let authority = "substr(\(rest), 1, instr(\(rest) || '/', '/') - 1)"
        let path = "substr(\(rest), instr(\(rest) || '/', '/'))"
        return "(\(scheme) || substr(\(authority), instr(\(authority), '@') + 1) || \(path))"
    }()

    mutating func add(_ more: String, _ values: String...) { add(more, values) }

    private mutating func add(_ more: String, _ values: [String]) {
        sql = sql == "1" ? more : "\(sql) AND \(more)"
        arguments += values
    }

    mutating func add(isIn values: [String], _ column: String) {
        add("\(column) IN (SELECT value FROM json_each(?))", Self.list(values))
    }

    /// Excludes `ids` by rowid, which every index has: SQLite reaches a far page without reading the rows before it.
    mutating func add(besides ids: some Sequence<DownloadID>) {
        add(
            "download.rowid NOT IN (SELECT rowid FROM download WHERE id IN (SELECT value FROM json_each(?)))",
            Self.list(ids.map(\.description))
        )
    }

    /// Returns all values as one JSON array, because SQLite limits the number of bound values.
    private static func list(_ values: [String]) -> String { "[" + values.map(quoted).joined(separator: ",") + "]" }

    private mutating func add(_ range: Range<Date>, _ column: String) {
        let texts = [range.lowerBound, range.upperBound].map { StoreDate.text($0) ?? "" }
        add("\(column) >= ? AND \(column) < ?", texts[0], texts[1])
    }

    private mutating func add(_ states: Set<DownloadSnapshot.State>, live: [DownloadID: DownloadSnapshot.State]) {
        let busy = DownloadSnapshot.State.active
        var statuses: [String] = []
        if states.contains(.paused) { statuses.append("paused") }
        if states.contains(.completed) { statuses.append("completed") }
        if states.contains(.failed) { statuses.append("failed") }
        let wanted = states.intersection(busy)
        let isQueuedWanted = states.contains(.queued)
        let rows = { (statuses: [String]) in
            statuses.count == 1
                ? "status = '\(statuses[0])'" : "status IN (\(statuses.map { "'\($0)'" }.joined(separator: ", ")))"
        }
        if isQueuedWanted, wanted == busy {
            add(rows(statuses + ["queued"]))
        } else if wanted.isEmpty {
            add(rows(isQueuedWanted ? statuses + ["queued"] : statuses))
            if isQueuedWanted, !live.isEmpty { add(besides: live.keys) }
        } else {
            var either = StoreCondition()
            either.add(isIn: live.filter { wanted.contains($0.value) }.map(\.key.description), "id")
            var parts = [either.sql]
            if !statuses.isEmpty { parts.append(rows(statuses)) }
            if isQueuedWanted {
                var queued = StoreCondition()
                queued.add("status = 'queued'")
                queued.add(besides: live.keys)
                parts.append("(\(queued.sql))")
                either.arguments += queued.arguments
            }
            add("(\(parts.joined(separator: " OR ")))")
            arguments += either.arguments
        }
    }

    /// Returns `text` as a JSON string.
    private static func quoted(_ text: String) -> String {
        // Every string can be encoded.
        String(decoding: (try? JSONEncoder().encode(text)) ?? Data("\"\"".utf8), as: UTF8.self)
    }

    var bound: StatementArguments { StatementArguments(arguments) }
}

extension StoreCondition {
    func onlyQueuedOrHeld() -> Self { adding("(status = 'queued' OR hold IS NOT NULL)") }

    func only(_ statuses: Set<DownloadRecord.Status>) -> Self {
        adding("status IN (\(statuses.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")))")
    }

    func onlyUnfinished() -> Self { adding("status <> 'completed'") }

    /// Selects downloads that have a partial file.
    func onlyBegun() -> Self { adding("partPath IS NOT NULL") }

    /// Selects downloads that no other user of the store owns.
    func onlyFree(for owner: StoreOwner) -> Self { adding("(ownerNumber IS NULL OR ownerNumber = \(owner.number))") }

    private func adding(_ more: String) -> Self {
        var condition = self
        condition.add(more)
        return condition
    }
}
