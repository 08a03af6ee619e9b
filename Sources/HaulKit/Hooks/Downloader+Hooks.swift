internal import Foundation

/// Reporting the events of downloads to hooks.
extension Downloader {
    /// Replaces the hooks from now on; deliveries of the former hooks are completed. Ends before this call do not count
    /// for ``HookEvent/allCompleted``. Does nothing after ``shutDown()``.
    public func setHooks(_ hooks: [Hook]) {
        guard !isShuttingDown else { return }
        self.hooks.replace(with: hooks)
        hookEvents.forgetEnds()
    }

    /// Delays ``HookEvent/allCompleted`` while `true`: more downloads of the same batch will be added. When it becomes
    /// `false`, the event is reported if all downloads have ended by then. Without effect after ``shutDown()``.
    public func expectMoreDownloads(_ expectsMore: Bool) {
        hookEvents.expectsMore = expectsMore
        tellHooksWhenIdle()
    }

    /// Waits until every delivery to hooks is complete: programs have ended, receivers of webhooks have responded.
    /// ``shutDown()`` does so itself, for at most ``HookLimits/shutDownTime``.
    ///
    /// - Parameter limit: longest time to wait.
    /// - Returns: `false` when the time was up first. After ``shutDown()`` there is nothing to wait for.
    @discardableResult
    public func waitForHooks(within limit: Duration) async -> Bool { await hooks.settle(within: limit) }

    /// Reports a download's new state to hooks, after the steps that led to it.
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
        let event = hookEvents.note(snapshot.id, state, alreadyExisted: alreadyExisted)
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

    /// Reports to hooks that all downloads have ended, if that is so and was not reported. Call it whenever it may have
    /// become so.
    func tellHooksWhenIdle() {
        guard !isShuttingDown, hooks.isWanted, let counts = hookEvents.allEnded(othersWait: !isIdle) else { return }
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
