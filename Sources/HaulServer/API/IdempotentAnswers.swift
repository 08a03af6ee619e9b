internal import DequeModule
internal import Hummingbird

/// Answers to requests that had an Idempotency-Key: the last 1,000 of this process, and of those the last 16 MiB. A repeated request gets
/// the same answer, and nothing is added again, also where the first is still being worked on.
///
/// The newest answer is kept whatever its size: it is the one whose client may not have got it.
actor IdempotentAnswers {
    private struct Kept {
        /// Tells it from a later one under the same key.
        var number: Int
        var digest: String
        var answer: Task<Response, any Error>
        /// Of the answer; nil while it is being worked on.
        var bytes: Int?
    }

    private let mostKeys: Int
    private let mostBytes: Int
    private var kept: [String: Kept] = [:]
    /// The oldest first.
    private var order: Deque<String> = []
    private var bytes = 0
    private var lastNumber = 0

    init(mostKeys: Int = 1000, mostBytes: Int = 16 << 20) { (self.mostKeys, self.mostBytes) = (mostKeys, mostBytes) }

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
        lastNumber += 1
        let number = lastNumber
        kept[key] = Kept(number: number, digest: digest, answer: task)
        order.append(key)
        if order.count > mostKeys { forget(oldestAnswered() ?? 0) }
        do {
            let response = try await task.value
            if kept[key]?.number == number { count(response.body.contentLength ?? 0, of: key) }
            return response
        } catch {
            if kept[key]?.number == number, let place = order.firstIndex(of: key) { forget(place) }
            throw error
        }
    }

    private func count(_ count: Int, of key: String) {
        kept[key]?.bytes = count
        bytes += count
        while bytes > mostBytes, let place = oldestAnswered(besides: key) { forget(place) }
    }

    /// A key whose answer is being worked on is not forgotten: the request would be carried out beside itself.
    private func oldestAnswered(besides key: String? = nil) -> Int? {
        order.firstIndex { $0 != key && kept[$0]?.bytes != nil }
    }

    private func forget(_ place: Int) {
        guard let gone = kept.removeValue(forKey: order.remove(at: place)) else { return }
        bytes -= gone.bytes ?? 0
    }
}
