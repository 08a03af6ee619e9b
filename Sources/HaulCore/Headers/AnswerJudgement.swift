/// Next action of an exchange, judged by the head of an answer.
package enum AnswerJudgement: Sendable, Equatable {
    /// Passes the answer to the receiver.
    case deliver
    /// Sends the request where a redirect leads.
    case redirect(RedirectPolicy)
    /// Repeats the request with the authentication that the server requires.
    case authenticate
    /// Ends the exchange, because the proxy requires credentials or refused those of the request.
    case proxyChallenge
    /// Ends the exchange.
    case fail(TransportError)

    /// Largest number of times that a request is repeated to answer a challenge.
    static let mostChallenges = 3

    /// Judges the answer to a request.
    ///
    /// - Parameters:
    ///   - redirects: the redirects up to the request.
    ///   - challenges: number of repetitions of the request that answered challenges.
    ///   - isForwarded: whether a proxy received the request outside a tunnel, so that a 407 comes from the proxy.
    ///   - learn: takes the challenges of a 401 to a request with credentials; returns whether they ask for another
    ///     authentication, as ``Authentications/learn(_:_:sent:isFirst:clientNonce:)`` does.
    package static func judge(
        _ head: ResponseHead,
        to request: RequestFields.Request,
        after redirects: RedirectPolicy,
        challenges: Int,
        isForwarded: Bool,
        learn: (_ challenges: [AuthenticationChallenge], _ key: Authentications.Key, _ isFirst: Bool) -> Bool
    ) -> AnswerJudgement {
        if head.status == 407, isForwarded { return .proxyChallenge }
        if head.status == 401, let key = request.key {
            let isOther = learn(AuthenticationChallenge.read(head.headers["WWW-Authenticate"]), key, challenges == 0)
            if isOther, challenges < mostChallenges { return .authenticate }
        }
        guard RedirectPolicy.isRedirect(status: head.status),
            let location = head.headers.first(name: "Location")
        else { return .deliver }
        var next = redirects
        do throws(TransportError) { try next.follow(location: location, status: head.status) } catch {
            return .fail(error)
        }
        return .redirect(next)
    }
}
