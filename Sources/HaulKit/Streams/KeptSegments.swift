internal import Foundation

/// Segments of an earlier attempt whose key or file may have changed since.
struct KeptSegments {
    private struct Kept {
        let item: SegmentQueue.Item
        let end: StreamSegmentEnd
        /// Digest of the key or of the file's tag, as the log has it.
        let mark: UInt64
    }
    struct Place: Hashable {
        let track: Int
        let number: Int64
    }

    private var kept: [HTTPURL: [Kept]] = [:]
    /// The segments that are fetched again.
    private(set) var renewed: Set<Place> = []
    /// The tracks of the renewed segments. Their initialization sections are fetched again too.
    private(set) var renewedTracks: Set<Int> = []

    /// Notes a segment that the log has.
    mutating func add(_ item: SegmentQueue.Item, _ end: StreamSegmentEnd) {
        if let key = item.segment.key, end.key != 0 {
            kept[key.url, default: []].append(Kept(item: item, end: end, mark: end.key))
        }
        if item.segment.range != nil, end.file != 0 {
            kept[item.segment.url, default: []].append(Kept(item: item, end: end, mark: end.file))
        }
    }

    /// Takes the kept segments of the key or the file at `url`, and returns the segments whose mark differs from
    /// `mark`, each once. Does nothing if `mark` is 0.
    mutating func renew(at url: HTTPURL, unless mark: UInt64) -> [(item: SegmentQueue.Item, end: StreamSegmentEnd)] {
        guard mark != 0, let there = kept.removeValue(forKey: url) else { return [] }
        return there.filter { $0.mark != mark }.compactMap { one in
            let place = Place(track: one.item.track, number: one.item.segment.number)
            guard renewed.insert(place).inserted else { return nil }
            renewedTracks.insert(one.item.track)
            return (one.item, one.end)
        }
    }
}

extension StreamRun {
    /// Queues again the segments of earlier attempts whose key or file has changed.
    ///
    /// - Parameter mark: present digest of the key or of the file's tag; 0 if it is unknown.
    func renewKept(at url: HTTPURL, unless mark: UInt64) {
        for (item, end) in kept.renew(at: url, unless: mark) {
            terms.progress.dropped(end, countsTime: item.track == 0)
            queue.append(item)
        }
        queue.wake()
    }
}
