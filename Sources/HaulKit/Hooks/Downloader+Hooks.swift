internal import Foundation

/// Telling hooks what becomes of downloads.
extension Downloader {
    /// Replaces the hooks, from now on; what the former ones were told still reaches them. Ends before this call are not
    /// counted by ``HookEvent/allCompleted``.
    public func setHooks(_ hooks: [Hook]) {
        guard !isShuttingDown else { return }
        self.hooks.replace(with: hooks)
        hookBook.forgetEnds()
    }

    /// While it is true, ``HookEvent/allCompleted`` is not told: downloads that are still to be added belong to the same
    /// lot. Told when it becomes false, if all have ended by then.
    public func expectMoreDownloads(_ expectsMore: Bool) {
        hookBook.expectsMore = expectsMore
        tellHooksWhenIdle()
    }

    /// Waits until hooks have been told everything: commands have ended, receivers of webhooks have answered.
    /// ``shutDown()`` does so by itself, for no longer than ``HookLimits/shutDownTime``.
    ///
    /// - Returns: false when the time was up first.
    @discardableResult
    public func waitForHooks(within limit: Duration) async -> Bool { await hooks.settle(within: limit) }

    /// Tells hooks of the state that a download has come to, after the steps that led to it.
    func tellHooks(_ task: DownloadTask, _ snapshot: DownloadSnapshot) {
        let (state, alreadyExisted) = (task.machine.state, task.alreadyExisted)
        if task.pendingSteps == 0 || !hooks.isWanted {
            tellHooks(state, snapshot, alreadyExisted: alreadyExisted)
        } else {
            step(task) { downloader, _ in downloader.tellHooks(state, snapshot, alreadyExisted: alreadyExisted) }
        }
    }

    private func tellHooks(
        _ state: DownloadMachine.State,
        _ snapshot: DownloadSnapshot,
        alreadyExisted: Bool
    ) {
        let event = hookBook.note(snapshot.id, state, alreadyExisted: alreadyExisted)
        guard hooks.isWanted else { return }
        if let event {
            let download = HookedDownload(snapshot, alreadyExisted: alreadyExisted)
            hooks.tell(HookMessage(event: event, time: time.date(), subject: .download(download)))
        }
        switch snapshot.state {
        case .completed, .failed, .cancelled: tellHooksWhenIdle()
        default: break
        }
    }

    /// Tells hooks that all downloads have ended, if they have and it has not been told: to be called whenever that may have
    /// become true.
    func tellHooksWhenIdle() {
        guard !isShuttingDown, hooks.isWanted, let counts = hookBook.allEnded(othersWait: !isIdle) else { return }
        hooks.tell(HookMessage(event: .allCompleted, time: time.date(), subject: .all(counts)))
    }
}

extension HookedDownload {
    fileprivate init(_ snapshot: DownloadSnapshot, alreadyExisted: Bool) {
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
