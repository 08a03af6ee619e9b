internal import Foundation

/// The result of one attempt to reach a webhook's receiver.
enum WebhookAnswer: Sendable, Equatable {
    case answered(status: Int, retryAfter: Duration?)
    case failed(TransportError)

    /// Describes the answer or the failure in a sentence for the log.
    func sentence(_ receiver: URL) -> String {
        switch self {
        case .answered(let status, _): "The receiver answered \(status)."
        case .failed(let error): RetryClassifier.decision(on: error, host: receiver.host ?? "").error.message
        }
    }
}

/// Decides whether and when a delivery is repeated. ``HookLimits/webhookRetry`` sets the number of attempts and the
/// delays between them.
struct WebhookRetryPlan: Sendable, Equatable {
    enum Step: Sendable, Equatable {
        case delivered
        case retry(after: Duration)
        case givenUp
    }

    private let policy: RetryPolicy
    private var failures = 0
    private var random: SplitMix64

    init(_ policy: RetryPolicy, seed: UInt64) {
        self.policy = policy
        random = SplitMix64(seed: seed)
    }

    mutating func next(after answer: WebhookAnswer) -> Step {
        var asked: Duration?
        switch answer {
        case .answered(200..<300, _): return .delivered
        // The receiver cannot take the delivery now: RFC 9110 §15.5.9 and §15.6, RFC 8470 §5.2, RFC 6585 §4.
        case .answered(408, let wait), .answered(425, let wait), .answered(429, let wait),
            .answered(500..<600, let wait):
            asked = wait
        // A repetition would get the same answer. A redirect is not followed, because the body is only for the named
        // receiver.
        case .answered: return .givenUp
        // Haul lacks descriptors, which will become free. The receiver did not cause that, so the attempt does not
        // count.
        case .failed(let error) where error.kind == .tooManyOpenFiles: return .retry(after: .seconds(1))
        // A repetition would fail in the same way.
        case .failed(let error) where error.kind == .invalidURL || error.kind == .tlsRefused: return .givenUp
        case .failed: break
        }
        failures += 1
        guard failures <= policy.attempts else { return .givenUp }
        return .retry(after: policy.delay(failures: failures, chance: random.next(), retryAfter: asked))
    }
}
