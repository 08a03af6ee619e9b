/// Shows a short text to the user of the machine.
public protocol Notifier: Sendable {
    /// Shows a notification.
    ///
    /// - Returns: whether the notification was shown; `false` when the system has nothing to show it with.
    func notify(title: String, body: String) async -> Bool
}
