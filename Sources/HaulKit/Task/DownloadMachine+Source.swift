internal import Foundation
internal import NIOHTTP1

/// Links that expire: when the application is asked for a fresh one, and what becomes of it.
///
/// Connections that bring bytes over an old link continue; only further requests, and those after an interruption, use the new one.
extension DownloadMachine {
    /// Names one question to the application, as ``TimerID`` names a timer.
    struct AskID: Sendable, Hashable, Codable { let number: Int }

    /// A link that the application named.
    struct Link: Sendable, Equatable, Codable {
        var url: URL
        /// Nil where unknown.
        var expiresAt: Instant?
        /// What other downloads have learned of its host.
        var host: KnownHost?
    }

    // MARK: Asking

    /// While bytes arrive, a link is replaced before it expires.
    mutating func askInGoodTime(at now: Instant) -> [Action] {
        guard state == .transferring, sources.home == 0, link.isDue(at: now) else { return [] }
        return link.ask(link.need(at: now) ?? .expiring)
    }

    /// Whether a fresh link may mend what a server said to this one: its status, then.
    private func linkRefusal(_ head: ResponseHead) -> Int? {
        switch head.status {
        case 401, 403, 404, 410: return head.status
        // S3 and Azure say so of signatures that they cannot read any more, others of anything.
        case 400: return settings.url.query == nil ? nil : head.status
        case 200, 203:
            guard let resource, head.isWebPage, resource.contentType != head.mediaType else { return nil }
            return resource.validator.compare(Validator(head)) == .same ? nil : head.status
        default: return nil
        }
    }

    /// The first request was refused for good, or brought a web page.
    ///
    /// - Returns: nil when a fresh link would not help, or none is to be had.
    mutating func renewLink(
        after decision: RetryClassifier.Decision,
        _ head: ResponseHead,
        _ question: RangeRequest,
        at now: Instant
    )
        -> [Action]?
    {
        guard link.canAsk, sources.home == 0 else { return nil }
        guard let status = decision.error.code == .unexpectedWebPage ? head.status : linkRefusal(head) else {
            return nil
        }
        // It was an older one.
        if question.link != link.number { return open(at: now) }
        guard patience.asksForLink() else { return nil }
        link.refuse(status, decision.error)
        return open(at: now)
    }

    /// A further request was refused: nothing more is asked over this link, and those that bring bytes go on.
    ///
    /// - Returns: nil when a fresh link would not help, or none is to be had.
    mutating func renewLink(whileTransferring id: ConnectionID, _ head: ResponseHead, at now: Instant) -> [Action]? {
        guard link.canAsk, sources.home == 0, let connection = transfer.active[id], connection.source == 0,
            let question = connection.question, let status = linkRefusal(head)
        else { return nil }
        var asks: [Action] = []
        if question.link == link.number {
            guard patience.asksForLink() else { return nil }
            link.refuse(status, DownloadError(refusedWith: status, credentials: head.credentials))
            asks = link.ask(.refused(status: status))
        }
        let actions = transfer.drop(id) + asks + transfer.schedule(&sources, at: now)
        return actions + (transfer.outcome == .noConnections ? open(at: now) : follow(transfer.outcome, at: now))
    }

    // MARK: Answers

    /// A good answer came over the link of this number.
    mutating func noteGoodLink(_ number: Int) {
        guard sources.home == 0, number == link.number else { return }
        link.noteGoodAnswer()
        patience.noteGoodLink()
    }

    mutating func sourceFound(_ id: AskID, _ fresh: Link, at now: Instant) -> [Action] {
        guard link.asked == id else { return [] }
        adopt(fresh, at: now)
        switch state {
        case .awaitingURL: return open(at: now)
        case .transferring: return useLink(at: now)
        default: return []
        }
    }

    mutating func sourceFailed(_ id: AskID, _ error: DownloadError, at now: Instant) -> [Action] {
        guard link.asked == id else { return [] }
        link.noAnswer(at: now)
        guard case .awaitingURL = state else { return [] }
        // That says nothing of the link: it is asked for again when others are closed.
        if error.code == .tooManyOpenFiles { return retry(.init(isWorthRetrying: true, error: error), at: now) }
        var failure = error
        if let refusal = link.refusal {
            failure = DownloadError(
                error.code,
                "\(refusal.error.message) \(error.message)",
                cause: error.cause,
                status: refusal.status
            )
        }
        return retry(.init(isWorthRetrying: patience.asksForLink(), error: failure), at: now)
    }

    /// The application named another link of its own accord.
    mutating func sourceReplaced(_ fresh: Link, at now: Instant) -> [Action] {
        if case .completed = state { return [] }
        if state == .cancelled { return [] }
        let before = link.stopAsking()
        adopt(fresh, at: now)
        switch state {
        case .awaitingURL: return before + open(at: now)
        case .connecting(let id, _), .comparing(let id, _): return before + [.close(id)] + reopen(at: now)
        case .backingOff where recoversAfterRest: return before + [.cancelTimer(TimerID(number: timers))] + recover()
        case .backingOff: return before + [.cancelTimer(TimerID(number: timers))] + reopen(at: now)
        case .transferring: return before + transfer.dropIdle(at: now) + useLink(at: now)
        default: return before
        }
    }

    /// Asks again, at the download's own URL first.
    private mutating func reopen(at now: Instant) -> [Action] {
        sources.returnHome()
        return open(at: now)
    }

    private mutating func useLink(at now: Instant) -> [Action] {
        let (actions, _) = transfer.advance(persisted, &sources, at: now)
        return actions + (transfer.outcome == .noConnections ? open(at: now) : follow(transfer.outcome, at: now))
    }

    private mutating func adopt(_ fresh: Link, at now: Instant) {
        let isSamePlace = link.isMissing || settings.url.isSamePlace(as: fresh.url)
        // What is known was known from here, while there was only one link.
        if !link.isMissing, resource?.place == nil { resource?.place = settings.url.place }
        (settings.url, settings.target) = (fresh.url, nil)
        host = fresh.host ?? KnownHost()
        link.renew(expiresAt: fresh.expiresAt, at: now)
        sources.replaceLink(fresh.url, isSamePlace: isSamePlace)
        transfer.linkReplaced(isForeign: isFromOtherPlace, at: now)
        if !isSamePlace {
            rangesAreBroken = false
            resource?.hasUsableRanges = true
        }
    }

    /// The link that came last leads to a file of another length: that is not the same file, and nothing is thrown away for it.
    func otherFileBehindLink(_ head: ResponseHead, to question: RangeRequest) -> RetryClassifier.Decision? {
        guard link.isVouchedFor, link.isUntried, question.link == link.number, sources.home == 0, persisted.count > 0,
            !dropsWhatIsThere, let known = resource?.total, head.contentCoding == nil
        else { return nil }
        let actual: Int64? =
            switch head.status {
            case 200, 203: head.isWebPage ? nil : head.contentLength
            case 206, 416: head.contentRange?.total
            default: nil
            }
        guard let actual, actual != known else { return nil }
        return .init(
            isWorthRetrying: false,
            error: DownloadError(
                .contentChanged,
                """
                The new link leads to another file: one of \(actual) bytes, not \(known). The received bytes are kept; \
                remove the download to fetch the other file.
                """
            )
        )
    }
}

extension ExpiringURL {
    init(_ settings: DownloadMachine.Settings, after earlier: ExpiringURL? = nil) {
        self.init(
            canAsk: settings.canAskForSource,
            isMissing: DownloadRequest.isPlaceholder(settings.url),
            isVouchedFor: settings.isLinkVouchedFor,
            after: earlier
        )
    }
}

extension DownloadMachine {
    /// What the machine knows of the link to the download's own URL.
    var link: ExpiringURL {
        get { sources.link }
        set { sources.link = newValue }
    }
}

extension URL {
    /// Without query, fragment and user info, which may be secrets.
    var place: URL {
        guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return self }
        (parts.query, parts.fragment, parts.user, parts.password) = (nil, nil, nil, nil)
        return parts.url ?? self
    }

    /// Whether another URL has the same scheme, host, port and path: only what is in the query differs, a signature say.
    func isSamePlace(as other: URL) -> Bool {
        Origin(self) == Origin(other) && path(percentEncoded: true) == other.path(percentEncoded: true)
    }
}
