internal import NIOCore

/// The rows that a new listener begins with, encoded once for all that come within a second: each would take some megabytes of its own
/// while it is made. What changed since follows as a delta.
actor SharedSnapshot {
    struct Frames: Sendable {
        /// What the rows are at least as new as.
        let revision: UInt64
        let frames: [ByteBuffer]
        let madeAt: ContinuousClock.Instant
    }

    private static let lifetime = Duration.seconds(1)
    private var present: Task<Frames, any Error>?
    private var last: Frames?

    /// - Parameter make: called when there is none that is new enough, once for all that wait.
    func frames(_ make: @escaping @Sendable () async throws -> Frames) async throws -> Frames {
        if let last, .now - last.madeAt < Self.lifetime { return last }
        // A task of its own: a listener that leaves does not cancel it for the others that wait.
        let task = present ?? Task { try await make() }
        present = task
        defer { present = nil }
        let made = try await task.value
        last = made
        return made
    }

    /// Frees the memory of what is too old to be used.
    func forgetOld() {
        if let last, .now - last.madeAt >= Self.lifetime { self.last = nil }
    }
}
