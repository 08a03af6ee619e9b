/// Starts tasks on a downloader's actor for the parts that are confined to it.
///
/// A part is not an actor: it hands itself over together with the work, which gets it back on the actor. The reference to the
/// downloader is weak: no part keeps its downloader alive, and work that begins after its release does not run. What is made
/// before ``attach(_:)`` does nothing.
///
/// Every `nonisolated(unsafe)` here is of a part on its way back to the actor that it is confined to, which the compiler cannot
/// express. Confined to the actor of its downloader.
final class ActorSpawner {
    private weak var downloader: Downloader?

    /// The downloader on whose actor the work runs, set once it exists.
    func attach(_ downloader: Downloader) { self.downloader = downloader }

    /// Traps in debug builds where the caller is not on the actor.
    func assertIsolated() { downloader?.assertIsolated() }

    /// Starts work on the actor. The downloader stays alive until it has ended.
    @discardableResult
    func start<Part: AnyObject>(
        _ part: Part,
        _ work: @escaping @Sendable (Part, isolated Downloader) async -> Void
    ) -> Task<Void, Never> {
        nonisolated(unsafe) let part = part
        let downloader = downloader
        return Task {
            if let downloader { await work(part, downloader) }
        }
    }

    /// Starts work on the actor after a wait, unless the task is cancelled before. Part and downloader may be released meanwhile.
    func start<Part: AnyObject>(
        _ part: Part,
        after wait: Duration,
        _ sleep: @escaping @Sendable (Duration) async throws -> Void,
        _ work: @escaping @Sendable (Part, isolated Downloader) -> Void
    ) -> Task<Void, Never> {
        let held = WeakPart(part: part)
        return Task { [weak downloader] in
            // Sleeping ends early only by cancellation.
            guard (try? await sleep(wait)) != nil, let downloader else { return }
            nonisolated(unsafe) let part = held.part
            if let part { await work(part, downloader) }
        }
    }

    /// A function for other threads that starts the same work on the actor each time it is called.
    func signal<Part: AnyObject>(
        _ part: Part,
        _ work: @escaping @Sendable (Part, isolated Downloader) -> Void
    ) -> @Sendable () -> Void {
        let held = WeakPart(part: part)
        return { [weak downloader] in
            guard let downloader else { return }
            Task {
                nonisolated(unsafe) let part = held.part
                if let part { await work(part, downloader) }
            }
        }
    }

    /// A function for other tasks that hands a value to a part on the actor.
    ///
    /// - Returns: returns when the part has received the value; false once part or downloader is gone.
    func receiver<Part: AnyObject, Value: Sendable>(
        _ part: Part,
        _ receive: @escaping @Sendable (Part, Value, isolated Downloader) async -> Bool
    ) -> @Sendable (Value) async -> Bool {
        let held = WeakPart(part: part)
        return { [weak downloader] value in
            guard let downloader else { return false }
            nonisolated(unsafe) let part = held.part
            guard let part else { return false }
            return await receive(part, value, downloader)
        }
    }
}

/// A part that may be released meanwhile; unchecked for the reason that ``ActorSpawner`` gives.
private struct WeakPart<Part: AnyObject>: @unchecked Sendable {
    weak var part: Part?
}
