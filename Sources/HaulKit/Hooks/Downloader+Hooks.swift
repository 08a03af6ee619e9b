internal import Foundation

/// Reporting the events of downloads to hooks.
extension Downloader {
    /// Delays ``HookEvent/allCompleted`` while `true`: more downloads of the same batch will be added. When it becomes
    /// `false`, the event is reported if all downloads have ended by then. Without effect after ``shutDown()``.
    public func expectMoreDownloads(_ expectsMore: Bool) {
        notifications.expectMore(expectsMore)
        idle.tellHooksWhenIdle()
    }

    /// Waits until every delivery to hooks is complete: programs have ended, receivers of webhooks have responded.
    /// ``shutDown()`` does so itself, for at most ``HookLimits/shutDownTime``.
    ///
    /// - Parameter limit: longest time to wait.
    /// - Returns: `false` when the time was up first. After ``shutDown()`` there is nothing to wait for.
    @discardableResult
    public func waitForHooks(within limit: Duration) async -> Bool {
        // Of groups that have just ended.
        await notifications.finish()
        return await notifications.hooks.settle(within: limit)
    }

    /// Waits until every delivery to hooks is complete or given up, for a program that is about to end. Programs have their own time
    /// limit. A webhook that fails is tried again for at most ``HookLimits/finalRetryTime`` from this call on, whatever its
    /// receiver asks for; one that fails after that, or would have to wait for longer, is given up with all that wait behind it.
    ///
    /// - Returns: what was given up for want of time, by receiver.
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
