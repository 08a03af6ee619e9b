/// Shows a short text to the user of the machine.
public protocol Notifier: Sendable {
    /// Shows a notification. A downloader waits for the return of a call before it makes the next one.
    ///
    /// - Returns: whether the notification was shown; `false` when the system has nothing to show it with.
    func notify(title: String, body: String) async -> Bool
}
