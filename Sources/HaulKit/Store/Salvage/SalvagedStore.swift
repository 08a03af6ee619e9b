package import Foundation

/// Result of salvaging a store that was damaged when a downloader opened it. A new store has the rows that could be
/// read; the damaged store is kept beside it.
public struct SalvagedStore: Sendable, Hashable, Codable, CustomStringConvertible {
    /// Path of the damaged store. It is never read again; its log, if it had one, is beside it.
    public let path: String
    /// When the damaged store was set aside.
    package let date: Date
    /// Number of downloads in the new store.
    package let kept: Int
    /// Number of known downloads that could not be read. A page that is damaged beyond recognition may have held more.
    package let lost: Int
    /// Names of the lost downloads: the URL without user info and query if it is known, else the id. At most 100.
    package let names: [String]

    init(path: String, date: Date, _ result: StoreSalvage.Result) {
        (self.path, self.date) = (path, date)
        (kept, lost, names) = (result.kept, result.lost, result.names)
    }

    /// Text for people: how many downloads could be read, how many are lost, the names of at most three lost downloads,
    /// and ``path``. Names are URLs without user info and query, or ids.
    public var description: String { sentence() }

    /// Describes the salvage for people, with the first `limit` names of lost downloads.
    ///
    /// - Parameter limit: maximum number of names. Further lost downloads are only counted.
    package func sentence(names limit: Int = 3) -> String {
        var text =
            "The store was damaged. \(Self.downloads(kept)) could be read and \(kept == 1 ? "is" : "are") in a new store"
        text +=
            lost == 0
            ? kept == 0
                ? "; all that it held is lost." : "; none is known to be lost, but for its newest changes."
            : "; at least \(Self.downloads(lost)) \(lost == 1 ? "is" : "are") lost"
        if lost > 0 {
            let shown = names.prefix(limit)
            let rest = lost - shown.count
            if !shown.isEmpty {
                text += ": \(shown.joined(separator: ", "))\(rest > 0 ? " and \(rest) more" : "")"
            }
            text += "."
        }
        return text + " The damaged store is kept as \(path)."
    }

    private static func downloads(_ count: Int) -> String { count == 1 ? "1 download" : "\(count) downloads" }
}
