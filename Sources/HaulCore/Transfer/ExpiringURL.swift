/// State of the link to the download's own URL: whether it may still be used, and whether the application has been
/// asked for a fresh one.
package struct ExpiringURL: Sendable, Equatable {
    package typealias AskID = DownloadMachine.AskID

    /// Whether the application has a source provider.
    var canAsk: Bool
    /// Whether the download has had no link yet.
    package private(set) var isMissing: Bool
    /// Whether the application named the link for this download. Such a link leads to the same file, whatever its URL.
    private(set) var isVouchedFor: Bool
    /// Whether the application named the link, and the link has had no good answer yet in this run.
    private(set) var isUntried: Bool
    /// Number of the link, counted from 0. ``RangeRequest/link`` keeps the number of the link that a request was made
    /// with.
    package private(set) var number = 0
    /// Time from which the link is of no use for another request; `nil` if unknown.
    package private(set) var expiresAt: Instant?
    /// Time from which a fresh link is asked for while this one still works: some time before the expiry, or a while
    /// after the application gave no link. `nil` if a fresh link has been asked for, or if there is no such time.
    private var renewsAt: Instant?
    /// Answer with which the server refused the link; `nil` if there was none.
    package private(set) var refusal: Refusal?
    /// The request to the source provider that has no answer yet.
    package private(set) var asked: AskID?
    private var asks = 0

    package struct Refusal: Sendable, Equatable {
        package let status: Int
        package let error: DownloadError

        package init(status: Int, error: DownloadError) {
            self.status = status
            self.error = error
        }
    }

    /// - Parameter earlier: link that this one replaces.
    package init(
        canAsk: Bool = false,
        isMissing: Bool = false,
        isVouchedFor: Bool = false,
        after earlier: ExpiringURL? = nil
    ) {
        self.canAsk = canAsk
        self.isMissing = isMissing
        self.isVouchedFor = isVouchedFor
        isUntried = isVouchedFor
        if let earlier { (asks, number) = (earlier.asks, earlier.number + 1) }
    }

    /// Returns the reason why a fresh link is needed before the next request; `nil` if none is needed. If the
    /// application cannot be asked, the present link is used.
    package func need(at now: Instant) -> SourceQuery.Reason? {
        if isMissing { return .noneYet }
        guard canAsk else { return nil }
        if let refusal { return .refused(status: refusal.status) }
        if let expiresAt, now >= expiresAt { return .expiring }
        return nil
    }

    /// Returns whether to ask for the next link while this one still works.
    package func isDue(at now: Instant) -> Bool {
        guard canAsk, asked == nil, let renewsAt else { return false }
        return now >= renewsAt
    }

    /// Asks the application for a link, unless it has been asked already.
    package mutating func ask(_ reason: SourceQuery.Reason) -> [DownloadMachine.Action] {
        renewsAt = nil
        guard asked == nil else { return [] }
        asks += 1
        let id = AskID(number: asks)
        asked = id
        return [.askForSource(id, reason)]
    }

    /// Cancels the request to the source provider, if there is one.
    mutating func stopAsking() -> [DownloadMachine.Action] {
        guard let asked else { return [] }
        self.asked = nil
        return [.cancelSource(asked)]
    }

    /// Notes that the application named a fresh link.
    package mutating func renew(expiresAt: Instant?, at now: Instant) {
        asked = nil
        number += 1
        (isMissing, isVouchedFor, isUntried, refusal) = (false, true, true, nil)
        setExpiry(expiresAt: expiresAt, at: now)
        // Ignores a date that has passed. The link is new, so the date comes from a different clock.
        if let expiresAt, expiresAt <= now { (self.expiresAt, renewsAt) = (nil, nil) }
    }

    /// Sets the expiry of the present link, and the time to ask for the next one.
    mutating func setExpiry(expiresAt: Instant?, at now: Instant) {
        self.expiresAt = expiresAt
        renewsAt = expiresAt.map { moment in
            // A link is replaced in the last quarter of its life, so that a link that lasts two seconds is not replaced
            // at once.
            let lead = min(Self.longestLead, max(.zero, moment - now) / 4)
            return Instant(sinceStart: moment.sinceStart - lead)
        }
    }

    /// Notes that the application gave no link. While bytes still arrive, the application is asked again later.
    package mutating func noAnswer(at now: Instant) {
        asked = nil
        renewsAt = max(expiresAt ?? now, now + Self.pause)
    }

    package mutating func refuse(_ status: Int, _ error: DownloadError) {
        refusal = Refusal(status: status, error: error)
    }
    /// Forgets the refusal, because another run may try the link once more.
    mutating func forgiveRefusal() { refusal = nil }
    mutating func noteGoodAnswer() { isUntried = false }

    /// Time between a request for which the application gave no link and the next request to the application.
    private static let pause = Duration.seconds(10)
    /// Longest time before the expiry of a link at which the application is asked for the next link. It suffices for
    /// two requests of the application to its own server.
    private static let longestLead = Duration.seconds(5)
}
