public import Foundation

/// What became of a store that was found damaged when a downloader opened: its rows that could be read are in a new store, and
/// the damaged one is kept beside it.
public struct SalvagedStore: Sendable, Hashable, Codable {
    /// Path of the damaged store. It is never read again; its log, if it had one, is beside it.
    public var path: String
    /// When it was set aside.
    public var date: Date
    /// Downloads that the new store has.
    public var kept: Int
    /// Downloads that are known of and could not be read. A page that is damaged beyond recognition may have held more.
    public var lost: Int
    /// The lost downloads as far as they are known: URLs without user info and query, else ids. At most 100.
    public var names: [String]

    init(path: String, date: Date, _ result: StoreSalvage.Result) {
        (self.path, self.date) = (path, date)
        (kept, lost, names) = (result.kept, result.lost, result.names)
    }

    /// What happened, in a sentence or two, with the first `limit` names of what was lost.
    ///
    /// - Parameter limit: names beyond it are counted.
    public func sentence(names limit: Int = 3) -> String {
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
