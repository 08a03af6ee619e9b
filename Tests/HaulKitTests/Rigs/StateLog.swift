@testable import HaulCore
@testable import HaulKit

/// Records every change of state of a download from now on.
struct StateLog: Sendable {
    private let changes: AsyncStream<DownloadSnapshot>

    init(_ download: Download) {
        // Listens from here on, even if the task starts later.
        var iterator = download.events.makeAsyncIterator()
        let (stream, changes) = AsyncStream.makeStream(of: DownloadSnapshot.self)
        self.changes = stream
        Task {
            while let event = await iterator.next() {
                if case .changed(let snapshot) = event { changes.yield(snapshot) }
            }
            changes.finish()
        }
    }

    /// All changes, once the run has ended.
    var all: [DownloadSnapshot] {
        get async { await changes.reduce(into: []) { $0.append($1) } }
    }
}

extension Download {
    /// Returns once the download is held for `reason`, or its run has ended.
    @discardableResult
    func isHeld(for reason: HoldReason) async -> DownloadSnapshot {
        for await event in events {
            if case .changed(let snapshot) = event, snapshot.state == .paused, snapshot.holdReason == reason {
                return snapshot
            }
        }
        return snapshot
    }
}

extension [DownloadSnapshot] {
    /// How often the download was paused, and how often it left a pause.
    var pauses: (begun: Int, ended: Int) {
        let begun = filter { $0.state == .paused }.count
        let ended = zip(self, dropFirst()).filter { $0.0.state == .paused && $0.1.state != .paused }.count
        return (begun, ended)
    }
}
