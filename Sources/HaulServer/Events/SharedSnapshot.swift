internal import NIOCore

/// The rows with which a new listener begins, encoded once for all listeners that arrive within a second. Making a
/// separate snapshot for each listener would take some megabytes of memory. A delta with later changes follows.
actor SharedSnapshot {
    struct Frames: Sendable {
        /// The rows are at least as new as this revision.
        let revision: UInt64
        let frames: [ByteBuffer]
        let madeAt: ContinuousClock.Instant
    }

    private static let lifetime = Duration.seconds(1)
    private var present: Task<Frames, any Error>?
    private var last: Frames?

    /// Returns the newest snapshot if it is less than a second old, else makes a new one.
    ///
    /// - Parameter make: makes a new snapshot; called once for all waiting listeners.
    func frames(_ make: @escaping @Sendable () async throws -> Frames) async throws -> Frames {
        if let last, .now - last.madeAt < Self.lifetime { return last }
        // Uses an unstructured task, so that a listener that leaves does not cancel it for the others.
        let task = present ?? Task { try await make() }
        present = task
        defer { if present == task { present = nil } }
        let made = try await task.value
        if made.madeAt >= last?.madeAt ?? made.madeAt { last = made }
        return made
    }

    /// Frees the memory of a snapshot that is too old for use.
    func forgetOld() {
        if let last, .now - last.madeAt >= Self.lifetime { self.last = nil }
    }
}
