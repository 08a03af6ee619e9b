internal import Hummingbird

/// Answers to requests that had an Idempotency-Key: the last 1,000 of this process. A repeated request gets the same answer, and
/// nothing is added again, also where the first is still being worked on.
actor IdempotentAnswers {
    private struct Kept {
        var digest: String
        var answer: Task<Response, any Error>
    }

    private static let limit = 1000
    private var kept: [String: Kept] = [:]
    private var order: [String] = []

    /// - Parameters:
    ///   - digest: of the body. Another body under the same key is a mistake that is told.
    ///   - make: makes the answer when the key is new. An answer that is an error is not kept.
    func answer(
        _ key: String,
        _ digest: String,
        _ make: @escaping @Sendable () async throws -> Response
    ) async throws -> Response {
        if let known = kept[key] {
            guard known.digest == digest else {
                throw Problem(
                    .unprocessableContent,
                    "idempotencyKeyReused",
                    "The Idempotency-Key was used before with another body."
                )
            }
            return try await known.answer.value
        }
        let task = Task { try await make() }
        kept[key] = Kept(digest: digest, answer: task)
        order.append(key)
        if order.count > Self.limit { kept[order.removeFirst()] = nil }
        do { return try await task.value } catch {
            kept[key] = nil
            order.removeAll { $0 == key }
            throw error
        }
    }
}
