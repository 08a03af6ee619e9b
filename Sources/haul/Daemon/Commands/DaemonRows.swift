public import ArgumentParser
import Foundation
public import HaulKit
import HaulServer
import NIOHTTP1

/// Reads lists of the daemon page by page, and finds a download by the beginning or the end of its id.
extension DaemonClient {
    struct Page: Decodable {
        var items: [DownloadRow]
        var next: String?
        var total: Int
    }

    private static let pageSize = 500

    func page(_ query: [(String, String?)], limit: Int, cursor: String? = nil) async throws -> Page {
        try await value(
            .GET,
            "/api/v1/downloads",
            query: query + [("limit", String(limit)), ("cursor", cursor)]
        )
    }

    /// Calls `body` with each page of a list, until `body` returns `false`.
    ///
    /// - Parameter limit: largest number of rows; `nil` for all.
    func pages(_ query: [(String, String?)], limit: Int?, _ body: ([DownloadRow]) throws -> Bool) async throws {
        var left = limit ?? .max
        var cursor: String?
        while left > 0 {
            let page = try await page(query, limit: min(left, Self.pageSize), cursor: cursor)
            let goesOn = try body(page.items)
            left -= page.items.count
            guard goesOn, let next = page.next else { return }
            cursor = next
        }
    }

    /// Returns the id that `text` names: a whole id, or at least four characters of its beginning or end.
    ///
    /// - Throws: ``Complaint`` if a part names no download or several.
    func id(_ text: String) async throws -> DownloadID {
        if let id = DownloadID(text) { return id }
        let part = text.lowercased()
        guard part.count >= 4, part.count < 36, part.allSatisfy({ $0 == "-" || $0.isHexDigit && $0.isASCII }) else {
            throw Complaint(
                "\(text) is no id of a download. haul list shows them; four characters of the end are enough.",
                .usage
            )
        }
        let page = try await page([("id", part)], limit: 5)
        guard let row = page.items.first else {
            throw Complaint("There is no download with the id \(text).", .otherFailure)
        }
        guard page.total == 1 else {
            let some = page.items.map { "\($0.id.short) (\($0.name))" }.joined(separator: ", ")
            throw Complaint("\(text) names \(page.total) downloads: \(some)\(page.total > 5 ? ", …" : "").", .usage)
        }
        return row.id
    }

    func ids(_ texts: [String]) async throws -> [DownloadID] {
        var ids: [DownloadID] = []
        for text in texts { ids.append(try await id(text)) }
        return ids
    }
}

extension DownloadID {
    /// The last eight characters. The first characters are the time, which downloads that were added together share.
    var short: String { String(description.suffix(8)) }
}

extension DownloadSnapshot.State: ExpressibleByArgument {}

/// Options that select the downloads of a command.
struct SelectionOptions: ParsableArguments {
    @Argument(help: "Id of a download, or at least four characters of its end or beginning.")
    var ids: [String] = []

    @Flag(help: "Every download.")
    var all = false

    @Option(help: "Downloads of this group.")
    var group: String?

    @Option(help: "Downloads in this state: \(Self.states). Repeatable.")
    var state: [DownloadSnapshot.State] = []

    static let states = DownloadSnapshot.State.allCases.filter { $0 != .cancelled }.map(\.rawValue).joined(
        separator: ", "
    )

    func validate() throws {
        let isFilter = group != nil || !state.isEmpty
        guard [!ids.isEmpty, all, isFilter].filter({ $0 }).count == 1 else {
            throw ValidationError("Name ids, or --all, or --group and --state.")
        }
    }

    var isFilter: Bool { ids.isEmpty }

    /// Returns the fields of a request that select the same downloads.
    func fields(_ client: DaemonClient) async throws -> [String: JSONValue] {
        if !isFilter { return ["ids": .array(try await client.ids(ids).map { .string($0.description) })] }
        var filter: [String: JSONValue] = [:]
        filter["group"] = group.map { .string($0) }
        if !state.isEmpty { filter["state"] = .array(state.map { .string($0.rawValue) }) }
        return ["filter": .object(filter)]
    }

    func count(_ client: DaemonClient) async throws -> Int {
        let states = state.isEmpty ? nil : state.map(\.rawValue).joined(separator: ",")
        return try await client.page([("group", group), ("state", states)], limit: 1).total
    }
}
