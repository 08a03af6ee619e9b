internal import DequeModule
internal import HTTPTypes
internal import Hummingbird

/// Keeps the last 1,000 answers to requests with an `Idempotency-Key`, at most 16 MiB, until the process ends. A
/// repeated request gets the same answer and adds nothing again, even while the first request is still being processed.
///
/// The newest answer is kept whatever its size, because its client may not have received it.
actor IdempotentAnswers {
    private struct Kept {
        /// Distinguishes this entry from a later one with the same key.
        var number: Int
        var digest: String
        var answer: Task<Response, any Error>
        /// Size of the answer; `nil` while the request is being processed.
        var bytes: Int?
    }

    private let mostKeys: Int
    private let mostBytes: Int
    private var kept: [String: Kept] = [:]
    /// The keys, the oldest first.
    private var order: Deque<String> = []
    private var bytes = 0
    private var lastNumber = 0

    init(mostKeys: Int = 1000, mostBytes: Int = 16 << 20) { (self.mostKeys, self.mostBytes) = (mostKeys, mostBytes) }

    /// Returns the kept answer of a key, or makes one.
    ///
    /// - Parameters:
    ///   - digest: digest of the body. Another body with the same key is an error.
    ///   - make: makes the answer for a new key. A thrown error is not kept.
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
        // Never forgets a request in progress, because a repetition of that request would be carried out too.
        while order.count >= mostKeys {
            guard let place = oldestAnswered() else {
                throw Problem(
                    .serviceUnavailable,
                    "busy",
                    "\(mostKeys) requests with an Idempotency-Key are in progress. Try again later."
                )
            }
            forget(place)
        }
        let task = Task { try await make() }
        lastNumber += 1
        let number = lastNumber
        kept[key] = Kept(number: number, digest: digest, answer: task)
        order.append(key)
        do {
            let response = try await task.value
            if kept[key]?.number == number { count(response.body.contentLength ?? 0, of: key) }
            return response
        } catch {
            if kept[key]?.number == number, let place = order.firstIndex(of: key) { forget(place) }
            throw error
        }
    }

    /// Returns the kept answer to a request with an `Idempotency-Key`, or makes one. Always makes an answer to a
    /// request without that field.
    ///
    /// - Parameter owner: the owner of the API key that sent the request; `nil` without an API key.
    nonisolated func answer(
        _ request: Request,
        _ owner: String?,
        _ body: JSONBody,
        _ make: @escaping @Sendable (inout JSONBody) async throws -> Response
    ) async throws -> Response {
        guard let key = request.headers.text("Idempotency-Key") else {
            var body = body
            return try await make(&body)
        }
        guard (1...255).contains(key.utf8.count) else {
            throw Problem.badRequest("Idempotency-Key must have 1 to 255 characters.")
        }
        // Adds the owner to the key, so that no sender gets the answer to another sender.
        return try await answer(owner.map { "\($0) \(key)" } ?? key, body.digest) {
            var body = body
            return try await make(&body)
        }
    }

    private func count(_ count: Int, of key: String) {
        kept[key]?.bytes = count
        bytes += count
        while bytes > mostBytes, let place = oldestAnswered(besides: key) { forget(place) }
    }

    /// Returns the index of the oldest key whose request has been answered; `nil` if there is none. Skips a key whose
    /// request is being processed, because a repetition of that request would be carried out too.
    private func oldestAnswered(besides key: String? = nil) -> Int? {
        order.firstIndex { $0 != key && kept[$0]?.bytes != nil }
    }

    private func forget(_ place: Int) {
        guard let gone = kept.removeValue(forKey: order.remove(at: place)) else { return }
        bytes -= gone.bytes ?? 0
    }
}
