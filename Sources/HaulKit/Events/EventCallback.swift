/// A closure of the application, and where it runs.
struct EventCallback<Event: Sendable>: Sendable {
    private let call: @Sendable (Event) async -> Void

    private init(call: @escaping @Sendable (Event) async -> Void) { self.call = call }

    /// Runs the closure on the main actor. The closure may use the state of the main actor.
    init(_ body: @escaping @MainActor (Event) -> Void) {
        self.init(call: { event in await body(event) })
    }

    /// Runs the closure on Swift's global executor.
    static func anywhere(_ body: @escaping @Sendable (Event) -> Void) -> Self {
        Self(call: { event in body(event) })
    }

    func callAsFunction(_ event: Event) async { await call(event) }
}
