internal import Foundation
internal import HaulKit

/// Active downloads that clients removed. aria2 lists them among the ended downloads until the process ends.
struct Aria2RemovedDownloads {
    struct Entry {
        var gid: GID
        /// The snapshot at the time of the removal.
        var snapshot: DownloadSnapshot
        var record: Aria2Record
        /// Options for a client that adds the download again.
        var options: Aria2Options
        var ended: Date
    }

    /// The entries, the oldest first.
    private(set) var entries: [Entry] = []
    private let most: Int

    init(most: Int) { self.most = most }

    mutating func append(_ entry: Entry) {
        guard most > 0 else { return }
        if entries.count >= most { entries.removeFirst() }
        entries.append(entry)
    }

    /// Removes an entry. Returns whether there was one.
    mutating func remove(_ gid: GID) -> Bool {
        guard let index = entries.firstIndex(where: { $0.gid == gid }) else { return false }
        entries.remove(at: index)
        return true
    }

    mutating func removeAll() { entries = [] }
}
