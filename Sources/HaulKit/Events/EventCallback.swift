/// A closure of the application, and where it runs.
struct EventCallback<Event: Sendable>: Sendable {
    private let call: @Sendable (Event) async -> Void

    /// Runs the closure on the main actor. The closure may use the state of the main actor.
    init(_ body: @escaping @MainActor (Event) -> Void) {
        call = { event in await body(event) }
    }

    init(place: Download.CallbackPlace, body: @escaping @Sendable (Event) -> Void) {
        switch place {
        case .mainActor: call = { event in await MainActor.run { body(event) } }
        case .anywhere: call = { event in body(event) }
        }
    }

    func callAsFunction(_ event: Event) async { await call(event) }
}
