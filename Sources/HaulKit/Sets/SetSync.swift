/// A sync that ``Downloader/sync(_:into:options:)`` has begun.
public final class SetSync: Sendable {
    /// The group of the downloads, for their progress and events. Only missing and different files have a download.
    public let group: DownloadGroup
    /// Number of files that were there and right.
    public let unchanged: Int
    /// Number of files that are fetched.
    public let wanted: Int
    private let end: Task<Result<SetReport, DownloadError>, Never>

    init(_ work: SetWork, _ downloader: Downloader) {
        group = DownloadGroup(name: work.group, downloader: downloader)
        (unchanged, wanted) = (work.unchanged, work.requests.count)
        end = Task { await Self.run(work, downloader) }
    }

    /// Waits until every download has ended, and returns the report. A task that is cancelled while it waits does not
    /// end the sync; ``Downloader/cancel(_:)`` with the group does.
    ///
    /// - Throws: ``DownloadError`` with a disk code if the records in `.haul/` cannot be written, and with code
    ///   ``DownloadError/Code/shutDown``. Failed downloads are in ``SetReport/faults``.
    public func report() async throws(DownloadError) -> SetReport { try await end.value.get() }

    /// Number of downloads that are added at once. At most four times as many are followed at once.
    private static let addedTogether = 256

    private static func run(_ work: SetWork, _ downloader: Downloader) async -> Result<SetReport, DownloadError> {
        await downloader.expectMoreDownloads(true)
        await withTaskGroup(of: Void.self) { group in
            var followed = 0
            for start in stride(from: 0, to: work.requests.count, by: addedTogether) {
                let part = start..<min(work.requests.count, start + addedTogether)
                for (index, result) in zip(part, await downloader.add(Array(work.requests[part]))) {
                    switch result {
                    case .success(let download):
                        followed += 1
                        group.addTask { await work.ended(index, await download.outcome()) }
                    case .failure(let error): work.failed(index, error)
                    }
                }
                while followed > 3 * addedTogether, await group.next() != nil { followed -= 1 }
            }
            await downloader.expectMoreDownloads(false)
        }
        // Removes old files and writes the records.
        do throws(DownloadError) { return .success(try await work.finish()) } catch { return .failure(error) }
    }
}
