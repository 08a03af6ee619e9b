internal import Foundation

/// Waits for the lock of a partial file that may soon be free. A downloader that was released without a shutdown
/// finishes its last writes, and a killed process takes a moment to end.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    /// Whether the owner of a locked partial file may be about to release it.
    ///
    /// - Parameter owner: the user of the store that ran the download last, if the store names one.
    func isWorthWaiting(for owner: Int64?, since began: Instant) -> Bool {
        guard !environment.isStopping.isSet else { return false }
        let user = services.store.owner
        let waited = services.time.now() - began
        // The kernel closes the files of a dead process one by one, so its lock may stay for a moment.
        if let owner, !user.isAlive(owner) { return waited < Self.patienceWithDead }
        let isInThisProcess = owner.map { StoreOwner.process($0) == StoreOwner.process(user.number) } ?? true
        return isInThisProcess && waited < Self.patience
    }

    /// Waits 20 ms before the next attempt to lock.
    func waitForLock(isolation: isolated (any Actor)? = #isolation) async {
        // The wait is cancelled only with the whole process.
        try? await services.time.sleep(.milliseconds(20))
    }

    private static let patience = Duration.seconds(5)
    private static let patienceWithDead = Duration.seconds(30)
}
