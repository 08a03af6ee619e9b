package import Foundation

/// Expiring links: asks the application for a fresh link, and uses its answer.
///
/// Connections that bring bytes over an old link continue. Only further requests, and requests after an interruption,
/// use the new link.
extension DownloadMachine {
    /// Identifies one request to the application for a link.
    package struct AskID: Sendable, Hashable, Codable { let number: Int }

    /// A link that the application named.
    package struct Link: Sendable, Equatable, Codable {
        package var url: URL
        /// Time at which the link expires; `nil` if unknown.
        package var expiresAt: Instant?
        /// Facts that other downloads have learned about the host of the URL.
        package var host: KnownHost?

        package init(url: URL, expiresAt: Instant? = nil, host: KnownHost? = nil) {
            self.url = url
            self.expiresAt = expiresAt
            self.host = host
        }
    }

    // MARK: Asking

    /// Asks for a fresh link before the current one expires, while bytes arrive.
    mutating func askInGoodTime(at now: Instant) -> [Action] {
        guard state == .transferring, sources.home == 0, link.isDue(at: now) else { return [] }
        return link.ask(link.need(at: now) ?? .expiring)
    }

    /// Returns the status of an answer that a fresh link may avoid; `nil` for any other answer.
    private func linkRefusal(_ head: ResponseHead) -> Int? {
        switch head.status {
        case 401, 403, 404, 410: return head.status
        // S3 and Azure answer 400 if they cannot read the signature in the query any more. Other servers answer 400 for
        // any reason, so a 400 to a URL without a query does not count.
        case 400: return settings.url.query == nil ? nil : head.status
        case 200, 203:
            guard let resource, head.isWebPage, resource.contentType != head.mediaType else { return nil }
            return resource.validator.compare(Validator(head)) == .same ? nil : head.status
        default: return nil
        }
    }

    /// Handles a final refusal of the first request, or a web page as its answer.
    ///
    /// - Returns: `nil` if a fresh link would not help or cannot be obtained.
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
        // The refused link was an older one, so the newer one is tried.
        if question.link != link.number { return open(at: now) }
        guard patience.asksForLink() else { return nil }
        link.refuse(status, decision.error)
        return open(at: now)
    }

    /// Handles the refusal of a request while bytes arrive. The link is not used for more requests, and the connections
    /// that bring bytes continue.
    ///
    /// - Returns: `nil` if a fresh link would not help or cannot be obtained.
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

    /// Records a good answer over the link with this number.
    mutating func noteGoodLink(_ number: Int) {
        guard sources.home == 0, number == link.number else { return }
        link.noteGoodAnswer()
        patience.noteGoodLink()
    }

    package mutating func sourceFound(_ id: AskID, _ fresh: Link, at now: Instant) -> [Action] {
        guard link.asked == id else { return [] }
        adopt(fresh, at: now)
        switch state {
        case .awaitingURL: return open(at: now)
        case .transferring: return useLink(at: now)
        default: return []
        }
    }

    package mutating func sourceFailed(_ id: AskID, _ error: DownloadError, at now: Instant) -> [Action] {
        guard link.asked == id else { return [] }
        link.noAnswer(at: now)
        guard case .awaitingURL = state else { return [] }
        // The error says nothing about the link. The application is asked again when other files may be closed.
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

    /// Uses a link that the application named without being asked.
    package mutating func sourceReplaced(_ fresh: Link, at now: Instant) -> [Action] {
        if case .completed = state { return [] }
        if state == .cancelled { return [] }
        let before = link.stopAsking()
        adopt(fresh, at: now)
        switch state {
        case .awaitingURL: return before + open(at: now)
        case .connecting(let id, _), .comparing(let id, _): return before + [.close(id)] + reopen(at: now)
        case .backingOff where restTimer.recovers: return before + [.cancelTimer(restTimer.timer)] + recover()
        case .backingOff: return before + [.cancelTimer(restTimer.timer)] + reopen(at: now)
        case .transferring: return before + transfer.dropIdle(at: now) + useLink(at: now)
        default: return before
        }
    }

    /// Sends the request again, to the download's own URL first.
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
        // Until now there was only one link, so the known version came from it.
        if !link.isMissing, resource?.place == nil { resource?.place = settings.url.place }
        (settings.url, settings.target) = (fresh.url, nil)
        host = fresh.host ?? KnownHost()
        link.renew(expiresAt: fresh.expiresAt, at: now)
        sources.replaceLink(fresh.url, isSamePlace: isSamePlace)
        transfer.linkReplaced(isForeign: isFromOtherPlace, at: now)
        if !isSamePlace {
            joining.noteOtherPlace()
            resource?.hasUsableRanges = true
        }
    }

    /// Returns the failure if the newest link leads to a file of another length, else `nil`. The received bytes belong
    /// to the earlier file and are kept.
    func otherFileBehindLink(_ head: ResponseHead, to question: RangeRequest) -> RetryClassifier.Decision? {
        guard link.isVouchedFor, link.isUntried, question.link == link.number, sources.home == 0, persisted.count > 0,
            !joining.dropsBytes, let known = resource?.total, head.contentCoding == nil
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
    /// The link to the download's own URL.
    package internal(set) var link: ExpiringURL {
        get { sources.link }
        set { sources.link = newValue }
    }
}
