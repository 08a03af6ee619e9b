internal import Foundation
internal import HTTPTypes
internal import HaulKit
internal import Hummingbird

/// Routes that return downloads in pages, the groups, and the totals.
struct ListRoutes {
    let services: Services

    private struct Page: Encodable {
        var items: [DownloadRow]
        var next: String?
        var total: Int
        var rev: String
    }

    func add(to routes: RouteTable) {
        routes.get("/api/v1/downloads") { request, context in try await list(request, of: context.key?.owner) }
        routes.get("/api/v1/groups") { request, _ in try await groups(request) }
        routes.get("/api/v1/totals") { request, _ in
            let folder = services.folders.fallback
            var totals = try await problems { () throws(DownloadError) in
                try await Totals(services.downloader, folder: folder)
            }
            totals.folder = folder
            return JSONBody.response(totals, to: request)
        }
    }

    /// - Parameter owner: the owner of the downloads to list; `nil` for all.
    private func list(_ request: Request, of owner: String?) async throws -> Response {
        var query = try Query(request)
        var filter = DownloadFilter(owner: owner)
        try filter.read(&query)
        filter.limit = try query.number("limit", 1...500) ?? 100
        let cursor = try query.text("cursor")
        let offset = try query.number("offset", 0...100_000_000)
        try query.finish()
        if let cursor {
            guard let start = Int(cursor, radix: 36), start >= 0, start <= 100_000_000, offset == nil else {
                throw Problem.invalidField("cursor is not one of this list.")
            }
            filter.offset = start
        } else {
            filter.offset = offset ?? 0
        }
        // Reads the position before the list, so that a change in between is reported twice, but never lost.
        let rev = await services.feed.position
        let selected = filter
        let (items, total) = try await problems { () throws(DownloadError) in
            (try await services.downloader.list(selected), try await services.downloader.count(selected.whole))
        }
        // Begins the next page after `limit` rows, not after the returned items, because unreadable rows are not among
        // the items.
        let end = filter.offset + (filter.limit ?? items.count)
        return JSONBody.response(
            Page(
                items: items.map { DownloadRow($0) },
                next: end < total ? String(end, radix: 36) : nil,
                total: total,
                rev: rev
            ),
            to: request
        )
    }

    private struct Group: Encodable {
        var name: String
        var count, open, paused, failed, completed: Int
        var receivedBytes, knownTotalBytes: Int64
        /// The newest set with this group.
        var set: SetRow?

        init(_ name: String, _ summary: DownloadSummary, _ set: SetRow?) {
            (self.name, self.set) = (name, set)
            (count, open, paused) = (summary.count, summary.open, summary.paused)
            (failed, completed) = (summary.failed, summary.completed)
            (receivedBytes, knownTotalBytes) = (summary.receivedBytes, summary.knownTotalBytes)
        }
    }

    private func groups(_ request: Request) async throws -> Response {
        let groups = try await problems { () throws(DownloadError) in try await services.downloader.groups() }
        let sets = await services.sets.rowsByGroup()
        let items = groups.compactMap { group in group.group.map { Group($0, group.summary, sets[$0]) } }
        return JSONBody.response(["items": items], to: request)
    }
}

extension DownloadFilter {
    /// The same selection without offset and limit.
    fileprivate var whole: DownloadFilter {
        var filter = self
        (filter.offset, filter.limit) = (0, nil)
        return filter
    }

    fileprivate mutating func read(_ query: inout Query) throws {
        if let states = try query.text("state") {
            self.states = try Self.states(states.split(separator: ",").map(String.init))
        }
        if let part = try query.text("id")?.lowercased() {
            guard (4...36).contains(part.count) else {
                throw Problem.invalidField("id must have 4 to 36 characters.")
            }
            if let id = DownloadID(part) {
                ids = [id]
            } else {
                predicate = { $0.id.description.hasSuffix(part) || $0.id.description.hasPrefix(part) }
            }
        }
        group = try query.text("group")
        text = try query.text("text").flatMap { $0.isEmpty ? nil : $0 }
        switch try query.text("sort") {
        case nil, "added": order = .added
        case "queue": order = .queue
        case "ended": order = .ended
        case "name": order = .path
        case "size": order = .size
        case "speed": order = .speed
        case "left": order = .timeLeft
        case let other?:
            throw Problem.invalidField("There is no order named \(other.prefix(40)).")
        }
        switch try query.text("order") {
        case nil, "asc": isDescending = false
        case "desc": isDescending = true
        case let other?:
            throw Problem.invalidField("order is asc or desc, not \(other.prefix(40)).")
        }
    }

    static func states(_ names: [String]) throws -> Set<DownloadSnapshot.State> {
        Set(
            try names.map { name in
                guard let state = DownloadSnapshot.State(rawValue: name) else {
                    throw Problem.invalidField("There is no state named \(name.prefix(40)).")
                }
                return state
            }
        )
    }
}
