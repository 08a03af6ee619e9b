import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Waiting for the end of a run, and the effect on the download when the waiting task is cancelled.
@Suite(.timeLimit(.minutes(60)))
struct WaitForEndTests {
    /// Waits for the result in a task that is cancelled once bytes have arrived.
    private func cancelledWait(
        _ download: Download,
        _ action: Download.CancelAction
    ) async -> Result<CompletedDownload, DownloadError> {
        await download.reaches(1000)
        let wait = Task { () async -> Result<CompletedDownload, DownloadError> in
            do throws(DownloadError) { return .success(try await download.result(onCancel: action)) } catch {
                return .failure(error)
            }
        }
        wait.cancel()
        return await wait.value
    }

    @Test(arguments: [
        (Download.CancelAction.leave, DownloadSnapshot.State.transferring, DownloadError.Code.waitCancelled),
        (.pause, .paused, .waitCancelled), (.cancel, .cancelled, .cancelled),
    ])
    func actsOnTheDownloadWhenTheWaitIsCancelled(
        _ action: Download.CancelAction,
        _ state: DownloadSnapshot.State,
        _ code: DownloadError.Code
    ) async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let download = try await rig.downloader.add(try rig.named("a", "slow"))
            let ended = await cancelledWait(download, action)
            let error = #expect(throws: DownloadError.self) { try ended.get() }
            #expect(error?.code == code && error?.isCancellation == true)
            #expect(download.snapshot.state == state)
            #expect(try rig.names().isEmpty == (action == .cancel))
        }
    }

    @Test(arguments: Download.CancelAction.allCases)
    func leavesWhatHasEnded(_ action: Download.CancelAction) async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let download = try await rig.downloader.add(try rig.named("a"))
            let file = try await download.result()
            if case .success(let again) = await cancelledWait(download, action) { #expect(again == file) }
            #expect(download.snapshot.state == .completed)
            #expect(try rig.names() == ["a"])
        }
    }

    @Test func returnsEveryOutcomeWithoutAThrow() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let done = try await rig.downloader.add(try rig.named("a"))
            #expect(await done.outcome() == .completed(try await done.result()))
            let missing = try await rig.downloader.add(try rig.named("b", "missing"))
            guard case .failed(let error) = await missing.outcome() else { throw self.error("a 404 is a failure") }
            #expect(error.status == 404)
            let slow = try await rig.downloader.add(try rig.named("c", "slow"))
            await slow.reaches(1000)
            let wait = Task { await slow.outcome() }
            wait.cancel()
            guard case .failed(let left) = await wait.value else { throw self.error("the wait was cancelled") }
            #expect(left.code == .waitCancelled)
            try await slow.cancel()
            #expect(await slow.outcome() == .cancelled)
        }
    }

    private func error(_ message: String) -> DownloadError { DownloadError(code: .internalFault, message: message) }
}
