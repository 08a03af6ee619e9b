import Foundation
import Testing

@testable import HaulCore
@testable import HaulKit

/// Signing and retrying deliveries.
struct WebhookPlanTests {
    /// The expected value comes from `printf '1700000000.{"event":"started"}'
    /// openssl dgst -sha256 -hmac 'It is a secret'`.
    @Test func signsTimestampAndBody() throws {
        let body = Array(#"{"event":"started"}"#.utf8)
        let expected = "sha256=52cd646cb5b4b70cd9c5ae0fd4516030d3d6914efa6c1e20c7dc1eb0c39ac849"
        #expect(WebhookHeaders.signature("1700000000", body, secret: "It is a secret") == expected)
        let fields = WebhookHeaders.fields(
            .started,
            delivery: try #require(UUID(uuidString: "0F3C0000-0000-4000-8000-000000000002")),
            time: Date(timeIntervalSince1970: 1_700_000_000.9),
            body: body,
            secret: "It is a secret"
        )
        #expect(
            fields.map(\.name) == [
                "Content-Type", "Haul-Event", "Haul-Delivery", "Haul-Timestamp", "Haul-Signature",
            ]
        )
        #expect(
            fields.map(\.value) == [
                "application/json", "started", "0f3c0000-0000-4000-8000-000000000002", "1700000000", expected,
            ]
        )
    }

    @Test func signsNothingWithoutASecret() {
        let fields = WebhookHeaders.fields(.failed, delivery: UUID(), time: .distantFuture, body: [], secret: nil)
        #expect(!fields.contains { $0.name == "Haul-Signature" })
    }

    private func step(after answer: WebhookAnswer) -> WebhookRetryPlan.Step {
        var plan = WebhookRetryPlan(RetryPolicy(), seed: 1)
        return plan.next(after: answer)
    }

    @Test(arguments: [200, 201, 204, 299])
    func isDoneWhenTheReceiverHasIt(_ status: Int) {
        #expect(step(after: .answered(status: status, retryAfter: nil)) == .delivered)
    }

    @Test(arguments: [100, 300, 301, 302, 307, 400, 401, 404, 410, 600, -1])
    func asksNobodyElseAndNotAgainWhereTheAnswerWouldBeTheSame(_ status: Int) {
        #expect(step(after: .answered(status: status, retryAfter: .seconds(1))) == .givenUp)
    }

    @Test(arguments: [408, 425, 429, 500, 503, 599])
    func triesAgainWhenTheReceiverCannotTakeItNow(_ status: Int) {
        #expect(step(after: .answered(status: status, retryAfter: .seconds(7))) == .retry(after: .seconds(7)))
    }

    @Test func triesAgainAfterABrokenConnectionButNotAWrongCertificate() {
        guard case .retry = step(after: .failed(TransportError(.connectionLost))) else {
            Issue.record("it should try again")
            return
        }
        #expect(step(after: .failed(TransportError(.tlsRefused))) == .givenUp)
        #expect(step(after: .failed(TransportError(.invalidURL))) == .givenUp)
    }

    @Test func givesUpAfterItsAttemptsWithinTheirBounds() {
        var policy = RetryPolicy()
        policy.attempts = 3
        policy.base = .seconds(1)
        var plan = WebhookRetryPlan(policy, seed: 4)
        for bound in [1, 2, 4] {
            guard case .retry(let wait) = plan.next(after: .answered(status: 500, retryAfter: nil)) else {
                Issue.record("it should try again")
                return
            }
            #expect(wait >= .zero && wait <= .seconds(bound))
        }
        #expect(plan.next(after: .answered(status: 500, retryAfter: nil)) == .givenUp)
    }

    @Test func waitsForOtherFilesToBeClosedHoweverLongThatTakes() {
        var plan = WebhookRetryPlan(RetryPolicy(), seed: 1)
        for _ in 0..<100 {
            #expect(plan.next(after: .failed(TransportError(.tooManyOpenFiles))) == .retry(after: .seconds(1)))
        }
    }
}
