internal import Foundation

/// Positions at which readers of unfinished files wait. Sends the positions to the machines of the downloads.
///
/// Confined to the actor of its downloader.
final class WaitingReaders {
    private var positions: [DownloadID: [Int: Int64]] = [:]
    private var last: Int

    /// - Parameter now: the numbers begin with this time, so that they differ from those of an earlier process.
    init(now: Date) { last = Int(now.timeIntervalSince1970 * 1000) }

    /// Returns the number of a new reader, larger than all earlier numbers.
    func nextNumber() -> Int {
        last += 1
        return last
    }

    /// Notes that a reader waits for a byte of a running download.
    func wait(_ number: Int, at position: Int64, _ task: DownloadTask) {
        positions[task.id, default: [:]][number] = position
        tell(task)
    }

    /// Forgets a reader.
    ///
    /// - Parameter task: task of the download; `nil` if the download is not in memory.
    func leave(_ number: Int, of id: DownloadID, _ task: DownloadTask?) {
        guard positions[id]?.removeValue(forKey: number) != nil else { return }
        if positions[id]?.isEmpty == true { positions[id] = nil }
        if let task { tell(task) }
    }

    /// Sends the machine the positions at which readers wait, newest reader first. Forgets readers whose byte is
    /// written.
    private func tell(_ task: DownloadTask) {
        let written = task.part?.persisted.written ?? ByteSet()
        let waiting = (positions[task.id] ?? [:]).filter { written.end(from: $0.value) == $0.value }
        positions[task.id] = waiting.isEmpty ? nil : waiting
        task.send(.readersWait(waiting.sorted { $0.key > $1.key }.map(\.value)))
    }
}
