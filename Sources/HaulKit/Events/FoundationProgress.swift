public import Foundation
internal import Synchronization

/// Foundation's `Progress` for a download, a group or a whole downloader, for views that are bound to a `Progress`.
///
/// The `Progress` of a download counts bytes, and is indeterminate (`totalUnitCount` below 0) while the length is
/// unknown. The `Progress` of a group or a downloader counts millionths of ``DownloadSummary/fraction``, read four
/// times a second. The fraction is an estimate while a length is unknown. `completedUnitCount` exceeds `totalUnitCount`
/// only while the length is unknown, and decreases only if the total length becomes smaller. `pause()`, `resume()` and
/// `cancel()` act on the downloads.
extension Download {
    /// Returns a `Progress` that follows this run of the download until the run ends or the `Progress` is released.
    public func progress() -> Progress {
        let progress = Progress(totalUnitCount: -1)
        progress.kind = .file
        progress.isPausable = true
        progress.isCancellable = true
        // A handler cannot report an error. After an error, the download stays as it is.
        progress.pausingHandler = { Task { try? await pause() } }
        progress.resumingHandler = { Task { try? await resume() } }
        progress.cancellationHandler = { Task { try? await cancel() } }
        let events = events
        let follower = Follower(progress)
        Task {
            for await event in events {
                guard follower.isHeld else { return }
                switch event {
                case .changed(let snapshot), .progressed(let snapshot):
                    follower.set(snapshot.receivedBytes, of: snapshot.totalBytes)
                case .ended(.completed(let completed)): follower.set(completed.bytes, of: completed.bytes)
                case .ended: break
                }
            }
        }
        return progress
    }
}

extension DownloadGroup {
    /// Returns a `Progress` that follows the group until every download of it is complete, the downloader shuts down,
    /// or the `Progress` is released.
    public func progress() -> Progress { downloader.progress(of: name) }
}

extension Downloader {
    /// Returns a `Progress` that follows all downloads until every one is complete, the downloader shuts down, or the
    /// `Progress` is released.
    public nonisolated func progress() -> Progress { progress(of: nil) }

    nonisolated func progress(of group: String?) -> Progress {
        let progress = Progress(totalUnitCount: Self.wholeProgress)
        progress.isPausable = true
        progress.isCancellable = true
        let filter = DownloadFilter(group: group)
        // A handler cannot report an error. After an error, the downloads stay as they are.
        progress.pausingHandler = { Task { try? await self.pause(filter) } }
        progress.resumingHandler = { Task { try? await self.resume(filter) } }
        progress.cancellationHandler = { Task { try? await self.cancel(filter) } }
        let follower = Follower(progress)
        let sleep = time.sleep
        Task { [weak self] in
            while follower.isHeld {
                do {
                    guard let summary = try await self?.summary(filter) else { return }
                    follower.set(Int64(summary.fraction * Double(Self.wholeProgress)), of: Self.wholeProgress)
                    if summary.state == .completed { return }
                } catch let error as DownloadError where error.code == .shutDown {
                    return
                } catch {
                    // If the store cannot be read, the progress is unknown and stays as it is.
                }
                // `sleep` fails only on cancellation, and nothing cancels this task.
                guard (try? await sleep(.milliseconds(250))) != nil else { return }
            }
        }
        return progress
    }

    /// Total of the units of a `Progress` over several downloads. The units are not bytes, because the fraction
    /// includes estimated lengths.
    private static let wholeProgress: Int64 = 1_000_000
}

/// Updates a `Progress` without holding it.
private final class Follower: Sendable {
    private struct State {
        // The reference is read under the lock of `state`. `Progress` itself is thread-safe, but is not declared
        // `Sendable`.
        nonisolated(unsafe) weak var progress: Progress?
    }
    private let state: Mutex<State>

    init(_ progress: Progress) { state = Mutex(State(progress: progress)) }

    var isHeld: Bool { state.withLock { $0.progress != nil } }

    func set(_ completed: Int64, of total: Int64?) {
        state.withLock { state in
            guard let progress = state.progress else { return }
            // Below 0 is indeterminate, also where an earlier answer had stated a length.
            let units = total ?? -1
            if units != progress.totalUnitCount { progress.totalUnitCount = units }
            let most = total ?? Int64.max
            progress.completedUnitCount = min(most, max(progress.completedUnitCount, completed))
        }
    }
}
