internal import Foundation

/// Controls the report on the end of all downloads, and waits for deliveries to hooks.
extension Downloader {
    /// Says that the caller will add more downloads, or with `false` that it has added them. While a caller will add
    /// more, ``HookEvent/allCompleted`` is not reported. The last call with `false` reports the event if all downloads
    /// have ended. Has no effect after ``shutDown()``.
    package func expectMoreDownloads(_ expectsMore: Bool) {
        notifications.expectMore(expectsMore)
        idle.tellHooksWhenIdle()
    }

    /// Waits until every delivery to hooks is complete: programs have ended, receivers of webhooks have responded.
    /// ``shutDown()`` also waits, for at most ``Configuration/Hooks/shutDownTime``.
    ///
    /// - Parameter limit: longest time to wait.
    /// - Returns: `false` if the time was up first. After ``shutDown()`` nothing is left to wait for.
    @discardableResult
    package func waitForHooks(within limit: Duration) async -> Bool {
        // Waits for the reports on groups that have just ended.
        await notifications.finish()
        return await notifications.hooks.settle(within: limit)
    }

    /// Waits until every delivery to hooks is complete or given up. Call this method before this process ends. Programs
    /// of hooks have their own time limit. A failed webhook is repeated for at most ``HookLimits/finalRetryTime`` from
    /// this call on, whatever delay its receiver asks for. A message that fails later, or would have to wait for
    /// longer, is given up with all messages that wait behind it.
    ///
    /// - Returns: for each receiver, the number of messages that it did not take or that were given up for lack of
    ///   time. Receivers that took all messages are left out.
    package func finishHooks() async -> [UndeliveredMessages] {
        await notifications.finish()
        return await notifications.hooks.settleAtLast()
    }
}

extension HookedDownload {
    init(_ snapshot: DownloadSnapshot, alreadyExisted: Bool) {
        self.init(
            id: snapshot.id,
            url: snapshot.url,
            path: snapshot.path,
            bytes: snapshot.receivedBytes,
            total: snapshot.totalBytes,
            key: snapshot.key,
            group: snapshot.group,
            owner: snapshot.owner,
            metadata: snapshot.metadata,
            alreadyExisted: alreadyExisted,
            error: snapshot.error,
            startedAt: snapshot.startedAt,
            endedAt: snapshot.endedAt
        )
    }
}
