import Foundation
import HaulKit

/// Runs the downloads of one `haul get` and sums up how they ended.
struct GetRun {
    private let downloader: Downloader
    private let display: any Display

    init(_ downloader: Downloader, _ display: any Display) {
        self.downloader = downloader
        self.display = display
    }

    /// A list is added in parts, so that the display follows its first files while the last are being added.
    private static let addedTogether = 256

    /// - Returns: the status of the first download, in the order of the list, that did not complete; after a signal that of
    ///   those that it stopped, if there are any.
    func finish(_ requests: [DownloadRequest]) async -> ExitStatus {
        let names = ListedNames(requests)
        for shared in names.shared {
            display.noted("\(shared.count) URLs of the list lead to \(shared.path): they are numbered in its order.")
        }
        await downloader.expectMoreDownloads(true)
        let statuses = await withTaskGroup(of: (Int, ExitStatus).self) { group in
            var seen: Set<DownloadID> = []
            var statuses: [Int: ExitStatus] = [:]
            for (index, error) in names.refused.sorted(by: { $0.key < $1.key }) {
                statuses[index] = ExitStatus(error)
                display.refused(requests[index].url.masked, error)
            }
            var rest = requests.indices.filter { names.refused[$0] == nil }[...]
            while !rest.isEmpty {
                let part = rest.prefix(Self.addedTogether)
                rest = rest.dropFirst(part.count)
                for (index, result) in zip(part, await downloader.add(part.map { names.requests[$0] })) {
                    switch result {
                    case .success(let download):
                        // The same URL twice in one list is one download.
                        guard seen.insert(download.id).inserted else { continue }
                        display.added(download.snapshot)
                        group.addTask { (index, await follow(download)) }
                    case .failure(let error) where error.code == .shutDown:
                        statuses[index] = .interrupted
                    case .failure(let error):
                        statuses[index] = ExitStatus(error)
                        display.refused(requests[index].url.masked, error)
                    }
                }
            }
            await downloader.expectMoreDownloads(false)
            for await (index, status) in group { statuses[index] = status }
            return statuses
        }
        display.close()
        if Interruption.hasHappened, statuses.values.contains(.interrupted) { return .interrupted }
        return statuses.sorted { $0.key < $1.key }.map(\.value).first { $0 != .complete } ?? .complete
    }

    /// - Returns: how a download that was added already ended.
    func finish(_ download: Download) async -> ExitStatus {
        display.added(download.snapshot)
        let status = await follow(download)
        display.close()
        return status
    }

    private func follow(_ download: Download) async -> ExitStatus {
        for await event in display.followsProgress ? download.events : download.ending {
            switch event {
            case .changed(let snapshot): display.changed(snapshot)
            case .progressed(let snapshot): display.progressed(snapshot)
            case .ended(let outcome):
                display.ended(download.snapshot, outcome)
                switch outcome {
                case .completed: return .complete
                case .failed(let error): return ExitStatus(error)
                case .cancelled: return .interrupted
                }
            }
        }
        return .otherFailure
    }
}
