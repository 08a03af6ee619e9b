/// What the machine knows of the link that the home source is asked by: whether it may still be used, and whether the
/// application has been asked for a fresh one.
struct ExpiringURL: Sendable, Equatable {
    typealias AskID = DownloadMachine.AskID

    /// There is somebody to ask for a link.
    var canAsk: Bool
    /// There has not been any yet.
    private(set) var isMissing: Bool
    /// The application named it for this download: whatever it is called, it leads to the same file.
    private(set) var isVouchedFor: Bool
    /// Nothing good has come over it yet in this run.
    private(set) var isUntried: Bool
    /// How many there have been: a request keeps the number of the one that it was made over.
    private(set) var number = 0
    /// From here on it is of no use for another request; nil where unknown.
    private(set) var expiresAt: Instant?
    /// From here on a fresh one is asked for while this one still works; nil when that has been done, or nothing is known.
    private var renewsAt: Instant?
    /// What the server said when it did not take it.
    private(set) var refusal: Refusal?
    /// The question that is out.
    private(set) var asked: AskID?
    private var asks = 0

    struct Refusal: Sendable, Equatable {
        let status: Int
        let error: DownloadError
    }

    /// - Parameter earlier: the one that it takes the place of.
    init(canAsk: Bool = false, isMissing: Bool = false, isVouchedFor: Bool = false, after earlier: ExpiringURL? = nil) {
        self.canAsk = canAsk
        self.isMissing = isMissing
        self.isVouchedFor = isVouchedFor
        isUntried = isVouchedFor
        if let earlier { (asks, number) = (earlier.asks, earlier.number + 1) }
    }

    /// Why no request can be made before a fresh one is here; nil when one can. Where the application cannot be asked, the present link is used.
    func need(at now: Instant) -> SourceQuery.Reason? {
        if isMissing { return .noneYet }
        guard canAsk else { return nil }
        if let refusal { return .refused(status: refusal.status) }
        if let expiresAt, now >= expiresAt { return .expiring }
        return nil
    }

    /// Whether it is time to ask for the next one while this one still works.
    func isDue(at now: Instant) -> Bool {
        guard canAsk, asked == nil, let renewsAt else { return false }
        return now >= renewsAt
    }

    /// Asks, unless somebody has been asked already.
    mutating func ask(_ reason: SourceQuery.Reason) -> [DownloadMachine.Action] {
        renewsAt = nil
        guard asked == nil else { return [] }
        asks += 1
        let id = AskID(number: asks)
        asked = id
        return [.askForSource(id, reason)]
    }

    /// An answer is not waited for any more.
    mutating func stopAsking() -> [DownloadMachine.Action] {
        guard let asked else { return [] }
        self.asked = nil
        return [.cancelSource(asked)]
    }

    /// There is a fresh one.
    mutating func renew(expiresAt: Instant?, at now: Instant) {
        asked = nil
        number += 1
        (isMissing, isVouchedFor, isUntried, refusal) = (false, true, true, nil)
        setExpiry(expiresAt: expiresAt, at: now)
        // It has only just been made: a date that has passed is that of another clock.
        if let expiresAt, expiresAt <= now { (self.expiresAt, renewsAt) = (nil, nil) }
    }

    /// What is known of the one that is here.
    mutating func setExpiry(expiresAt: Instant?, at now: Instant) {
        self.expiresAt = expiresAt
        renewsAt = expiresAt.map { moment in
            // In good time, and in proportion: a link that lives for two seconds is not to be replaced at once.
            let lead = min(Self.longestLead, max(.zero, moment - now) / 4)
            return Instant(sinceStart: moment.sinceStart - lead)
        }
    }

    /// There was no answer to the question. While bytes arrive all the same, there is time for another one.
    mutating func noAnswer(at now: Instant) {
        asked = nil
        renewsAt = max(expiresAt ?? now, now + Self.pause)
    }

    /// A server does not take it.
    mutating func refuse(_ status: Int, _ error: DownloadError) { refusal = Refusal(status: status, error: error) }
    /// Another run may try it once more.
    mutating func forgiveRefusal() { refusal = nil }
    mutating func noteGoodAnswer() { isUntried = false }

    /// Between two questions in the background, the first of which had no answer.
    private static let pause = Duration.seconds(10)
    /// How long before its end a link is replaced, at most: time for the application to ask its own server, and to ask twice.
    private static let longestLead = Duration.seconds(5)
}
