import Hummingbird
import NIOCore
import Synchronization
import Testing

@testable import HaulServer

/// Tests which answers are kept under an Idempotency-Key.
@Suite struct IdempotentAnswersTests {
    private let answers = IdempotentAnswers(mostKeys: 4, mostBytes: 100)
    private let made = Made()

    private final class Made: Sendable {
        private let keys = Mutex<[String]>([])
        var all: [String] { keys.withLock { $0 } }
        func add(_ key: String) { keys.withLock { $0.append(key) } }
    }

    private func ask(_ key: String, bytes: Int) async throws {
        let response = try await answers.answer(key, "d") { [made] in
            made.add(key)
            return Response(status: .ok, body: .init(byteBuffer: ByteBuffer(repeating: 1, count: bytes)))
        }
        #expect(response.body.contentLength == bytes)
    }

    @Test func theOldestAnswersAreForgottenWhereAllAreTooLarge() async throws {
        for key in ["a", "b", "c"] { try await ask(key, bytes: 40) }
        for key in ["c", "b"] { try await ask(key, bytes: 40) }
        #expect(made.all == ["a", "b", "c"])
        try await ask("a", bytes: 40)
        #expect(made.all == ["a", "b", "c", "a"])
    }

    @Test func anAnswerBeyondTheLimitIsRememberedUntilTheNext() async throws {
        try await ask("small", bytes: 40)
        try await ask("large", bytes: 500)
        try await ask("large", bytes: 500)
        #expect(made.all == ["small", "large"])
        try await ask("next", bytes: 1)
        try await ask("large", bytes: 500)
        #expect(made.all == ["small", "large", "next", "large"])
    }

    @Test func theOldestKeysAreForgotten() async throws {
        for key in ["a", "b", "c", "d", "e"] { try await ask(key, bytes: 1) }
        try await ask("b", bytes: 1)
        #expect(made.all == ["a", "b", "c", "d", "e"])
        try await ask("a", bytes: 1)
        #expect(made.all.count == 6)
    }

    /// Other keys do not evict an answer in progress, so a repeated request does not start the work again.
    @Test func anAnswerThatIsBeingWorkedOnIsNotForgotten() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let (begun, begins) = AsyncStream.makeStream(of: Void.self)
        async let slow = answers.answer("slow", "d") { [made] in
            made.add("slow")
            begins.finish()
            for await _ in gate {}
            return Response(status: .ok)
        }
        for await _ in begun {}
        for key in ["a", "b", "c", "d", "e"] { try await ask(key, bytes: 90) }
        async let again = answers.answer("slow", "d") { [made] in
            made.add("slow")
            return Response(status: .ok)
        }
        open.finish()
        _ = try await (slow, again)
        #expect(made.all.filter { $0 == "slow" }.count == 1)
    }

    @Test func aFailureIsNotRemembered() async throws {
        await #expect(throws: Problem.self) {
            try await answers.answer("a", "d") { throw Problem.badRequest("No.") }
        }
        try await ask("a", bytes: 1)
        #expect(made.all == ["a"])
    }

    /// Requests in progress are never forgotten. If all kept keys are in progress, a request with a new key is refused.
    @Test func refusesAKeyWhileAsManyAreInProgressAsAreKept() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let (begun, begins) = AsyncStream.makeStream(of: Void.self)
        let slow = (1...4).map { number in
            Task { [answers, made] in
                _ = try await answers.answer("slow \(number)", "d") {
                    made.add("slow \(number)")
                    begins.yield()
                    for await _ in gate {}
                    return Response(status: .ok)
                }
            }
        }
        var beginnings = begun.makeAsyncIterator()
        for _ in slow { await beginnings.next() }
        await #expect(throws: Problem.self) { try await ask("one more", bytes: 1) }
        open.finish()
        for each in slow { try await each.value }
        #expect(made.all.count == 4)
        try await ask("one more", bytes: 1)
        #expect(made.all.last == "one more")
    }
}
