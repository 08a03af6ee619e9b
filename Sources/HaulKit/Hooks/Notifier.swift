/// Shows a short text to whoever sits at the machine.
public protocol Notifier: Sendable {
    /// - Returns: whether it was shown; false where nobody shows such.
    func notify(title: String, body: String) async -> Bool
}
