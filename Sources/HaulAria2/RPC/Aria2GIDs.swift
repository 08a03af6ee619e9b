internal import HaulKit

/// Maps GIDs to downloads, and back. The GID of most downloads is the second half of their id, so ``chosen`` stores
/// only the other GIDs.
struct Aria2GIDs {
    private var ids: [UInt64: DownloadID] = [:]
    /// GIDs that a client or a session file chose, by download.
    private var chosen: [DownloadID: UInt64] = [:]

    func gid(of id: DownloadID) -> GID { chosen[id].flatMap { GID(number: $0) } ?? GID(id) }

    func isKnown(_ id: DownloadID) -> Bool { ids[gid(of: id).number] == id }

    mutating func insert(_ id: DownloadID, _ gid: GID?) {
        remove(id)
        if let gid, gid != GID(id) { chosen[id] = gid.number }
        // If two downloads claim a GID, the first one keeps it, and the second one gets the GID of its id.
        if let holder = ids[self.gid(of: id).number], holder != id { chosen[id] = nil }
        ids[self.gid(of: id).number] = id
    }

    mutating func remove(_ id: DownloadID) {
        let gid = gid(of: id).number
        if ids[gid] == id { ids[gid] = nil }
        chosen[id] = nil
    }

    subscript(gid: GID) -> DownloadID? { ids[gid.number] }

    /// Returns the known GIDs in a range such as ``GID/range(ofPrefix:)``; at most two, because two show that a
    /// shortened GID is ambiguous. ``Aria2Session`` refuses it.
    func all(in range: ClosedRange<UInt64>) -> [GID] {
        if range.lowerBound == range.upperBound {
            guard ids[range.lowerBound] != nil, let gid = GID(number: range.lowerBound) else { return [] }
            return [gid]
        }
        var found: [GID] = []
        for number in ids.keys where range.contains(number) {
            if let gid = GID(number: number) { found.append(gid) }
            if found.count == 2 { break }
        }
        return found
    }
}
