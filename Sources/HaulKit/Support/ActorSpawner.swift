/// Starts tasks on a downloader's actor for the parts that are confined to that actor.
///
/// A part is not an actor. The part passes itself together with the work, and the work gets the part back on the actor.
/// The reference to the downloader is weak: no part keeps its downloader alive, and work that begins after the
/// downloader's release does not run. Tasks and functions that are made before ``attach(_:)`` do nothing.
///
/// Every `nonisolated(unsafe)` here marks a part on its way back to the actor that the part is confined to. The
/// compiler cannot express that. The spawner is confined to the actor of its downloader.
final class ActorSpawner {
    private weak var downloader: Downloader?

    /// Sets the downloader on whose actor the work runs, once it exists.
    func attach(_ downloader: Downloader) { self.downloader = downloader }

    /// Traps in debug builds if the caller is not on the actor.
    func assertIsolated() { downloader?.assertIsolated() }

    /// Starts work on the actor. The downloader stays alive until the work has ended.
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

    /// Starts work on the actor after `wait`, unless the returned task is cancelled first. The part and the downloader
    /// may be released during the wait.
    func start<Part: AnyObject>(
        _ part: Part,
        after wait: Duration,
        _ sleep: @escaping @Sendable (Duration) async throws -> Void,
        _ work: @escaping @Sendable (Part, isolated Downloader) -> Void
    ) -> Task<Void, Never> {
        let held = WeakPart(part: part)
        return Task { [weak downloader] in
            // `sleep` fails only on cancellation.
            guard (try? await sleep(wait)) != nil, let downloader else { return }
            nonisolated(unsafe) let part = held.part
            if let part { await work(part, downloader) }
        }
    }

    /// Returns a function for other threads. Each call of the function starts `work` on the actor.
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

    /// Returns a function that passes a value to a part on the actor. Any task may call the function.
    ///
    /// - Returns: a function that returns the result of `receive`, or `false` once the part or the downloader is
    ///   released.
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

/// A weak reference to a part, never assigned after `init`. Unchecked: any thread may load a weak reference, and the
/// loaded part goes to its actor at once; see ``ActorSpawner``.
private struct WeakPart<Part: AnyObject>: @unchecked Sendable {
    weak var part: Part?
}
