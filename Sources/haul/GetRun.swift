import Foundation
import HaulKit

/// Runs the downloads of one `haul get` and sums up how they ended.
struct GetRun {
    private let downloader: Downloader
    private let display: any Display

    /// Largest number of added downloads that have not ended. Each of them costs memory.
    private let followedTogether: Int

    /// Called with the index and the outcome of each request of the list when it has ended.
    private let noteEnd: @Sendable (Int, DownloadOutcome) async -> Void

    init(
        _ downloader: Downloader,
        _ display: any Display,
        active: Int = 1,
        noteEnd: @escaping @Sendable (Int, DownloadOutcome) async -> Void = { _, _ in }
    ) {
        self.downloader = downloader
        self.display = display
        self.noteEnd = noteEnd
        followedTogether = max(1024, 4 * active)
    }

    /// Number of requests that are added at once. The display shows the first files of a list before the last are
    /// added.
    private static let addedTogether = 256

    /// - Returns: the status of the first entry of the list that did not complete, or ``ExitStatus/interrupted`` if a
    ///   signal stopped a download.
    func finish(_ wanted: Wanted) async -> ExitStatus {
        var summary = StatusSummary()
        for line in wanted.unreadable {
            display.unreadable(line)
            summary.note(line.status, at: line.position)
        }
        let names = BatchFileNames(wanted.requests)
        for shared in names.shared {
            // The name of a film is known only after its playlist has arrived.
            let order = shared.path.lowercased().hasSuffix(".m3u8") ? "as they begin" : "in its order"
            display.noted("\(shared.count) URLs of the list lead to \(shared.path): the files are numbered \(order).")
        }
        display.expects(wanted.requests.count)
        await downloader.expectMoreDownloads(true)
        await withTaskGroup(of: (Int, ExitStatus).self) { group in
            var seen: Set<DownloadID> = []
            let refusals = names.refused.merging(wanted.unproved) { _, unproved in unproved }
            for (index, error) in refusals.sorted(by: { $0.key < $1.key }) {
                summary.note(ExitStatus(error), at: index)
                refused(index, error, wanted)
                await noteEnd(index, .failed(error))
            }
            var followed = 0
            var rest = wanted.requests.indices[...]
            while !rest.isEmpty {
                let part = rest.prefix(Self.addedTogether)
                rest = rest.dropFirst(part.count)
                let indices = part.filter { refusals[$0] == nil }
                for (index, result) in zip(indices, await downloader.add(indices.map { names.requests[$0] })) {
                    switch result {
                    case .success(let download):
                        // Skips a URL that the list names twice, because both requests have the same download.
                        guard seen.insert(download.id).inserted else { continue }
                        display.added(download.snapshot)
                        followed += 1
                        group.addTask {
                            let (status, outcome) = await follow(download)
                            await noteEnd(index, outcome)
                            return (index, status)
                        }
                    case .failure(let error) where error.code == .shutDown:
                        summary.note(.interrupted, at: index)
                        await noteEnd(index, .failed(error))
                    case .failure(let error):
                        summary.note(ExitStatus(error), at: index)
                        refused(index, error, wanted)
                        await noteEnd(index, .failed(error))
                    }
                }
                while followed > followedTogether - Self.addedTogether, let (index, status) = await group.next() {
                    followed -= 1
                    summary.note(status, at: index)
                }
            }
            await downloader.expectMoreDownloads(false)
            for await (index, status) in group { summary.note(status, at: index) }
        }
        display.close()
        return summary.status(isInterrupted: Interruption.hasHappened)
    }

    private func refused(_ index: Int, _ error: DownloadError, _ wanted: Wanted) {
        let url = wanted.requests[index].url.masked
        display.refused(url, error, at: wanted.place(of: index))
    }

    /// - Returns: the status of `download`, which was added before.
    func finish(_ download: Download) async -> ExitStatus {
        display.added(download.snapshot)
        let (status, _) = await follow(download)
        display.close()
        return status
    }

    private func follow(_ download: Download) async -> (ExitStatus, DownloadOutcome) {
        for await event in display.followsProgress ? download.events : download.ending {
            switch event {
            case .changed(let snapshot): display.changed(snapshot)
            case .progressed(let snapshot): display.progressed(snapshot)
            case .ended(let outcome):
                display.ended(download.snapshot, outcome)
                switch outcome {
                case .completed: return (.complete, outcome)
                case .failed(let error): return (ExitStatus(error), outcome)
                case .cancelled: return (.interrupted, outcome)
                }
            }
        }
        // The events end without an outcome only when this task is cancelled.
        let error = DownloadError(.waitCancelled, "The wait for the download was cancelled.")
        return (.otherFailure, .failed(error))
    }
}
