internal import Foundation

/// Decides what follows a transfer: another request, another attempt, verification and publishing, or failure.
extension DownloadMachine {
    /// Returns the actions for an outcome of the transfer.
    package mutating func follow(_ outcome: Transfer.Outcome, because error: TransportError? = nil, at now: Instant)
        -> [Action]
    {
        if let compared = transfer.overlap.takeConfirmed() {
            resource?.validator = compared.validator
            resource?.place = compared.place
            if isUnproved {
                resource?.isUnproved = compared.isUnproved
                resource?.contentType = compared.contentType
            }
        }
        switch outcome {
        case .goesOn: return []
        case .complete: return verify()
        case .versionMismatch:
            // Keeps all bytes, because an answer to an additional connection discards none. `open(at:)` sends a new
            // first request, whose answer decides which bytes stay.
            return transfer.closeAll() + open(at: now)
        case .primaryRejected:
            _ = sources.moveOn(droppingHome: true)
            return open(at: now)
        case .givenUpForReader: return open(at: now)
        case .noConnections:
            // A server may send less than requested (RFC 9110 §15.3.7), so the rest is requested at once. A server
            // often cuts off a body when the link expires; `open(at:)` then asks for a fresh link.
            let isExpired = sources.home == 0 && link.need(at: now) != nil
            if error == nil || isExpired, persisted.count > joining.countToExceed { return open(at: now) }
            let verdict = transportVerdict(error ?? TransportError(.connectionLost, "the body ended early"))
            return retry(verdict, retryAfter: error?.retryAfter, at: now)
        case .wrongPiece(let index):
            return fail(
                DownloadError(
                    .checksumMismatch,
                    "Piece \(index + 1) of the file has the wrong digest wherever it comes from. What is right is kept."
                )
            )
        }
    }

    /// Continues after all bytes have arrived. Compares the unchecked pieces first if their digests are known, and then
    /// verifies the file.
    ///
    /// - Parameter fresh: the bytes of the connection that has just ended, if the segment plan did not contain them.
    package mutating func finish(at now: Instant, bringing fresh: Range<Int64> = 0..<0) -> [Action] {
        guard pieces(for: resource?.total) != nil else {
            guard settings.pieces == nil else {
                // The length shows that the bytes on the disk are not the requested file.
                joining.expectOtherVersion()
                if patience.refetches() || sources.moveOn(droppingHome: true) {
                    return transfer.closeAll() + open(at: now)
                }
                let refusal = RangeResponse.Refusal.otherPieces(actual: resource?.total ?? 0)
                let host = sources.url.host ?? ""
                return transfer.closeAll()
                    + fail(RetryClassifier.decision(on: refusal, host: host, isRedirected: false).error)
            }
            return verify()
        }
        let closing = transfer.closeAll()
        let isNews = state != .transferring
        state = .transferring
        begin(nil, at: now)
        transfer.noteUnplanned(fresh, from: sources.home)
        let (actions, outcome) = transfer.advance(persisted, &sources, at: now)
        guard outcome == .goesOn else { return closing + actions + follow(outcome, at: now) }
        return closing + actions + (isNews ? [.report] : [])
    }

    package mutating func begin(_ first: Transfer.First?, at now: Instant) {
        guard let resource else { return }
        transfer.begin(
            first,
            Transfer.Terms(
                resource: resource,
                isProvable: isProvable,
                resumesUnverified: settings.resumesUnverified,
                pieces: pieces(for: resource.total),
                limits: settings.effectiveLimits,
                isMedia: MediaType.isFilmOrMusic(resource.contentType, path: settings.url.path)
            ),
            persisted,
            sources,
            host: host,
            at: now
        )
        transfer.home.noteLink(isForeign: isFromOtherPlace)
    }

    /// Returns the digests of the pieces if they belong to a file of length `total`.
    package func pieces(for total: Int64?) -> PieceHashes? {
        guard let total, let pieces = settings.pieces, pieces.covers(total) else { return nil }
        return pieces
    }

    package mutating func verify() -> [Action] {
        state = .verifying
        let next = isStreamLog ? Action.assemble : .verify(settings.checksum ?? resource?.digest)
        return link.stopAsking() + transfer.closeAll() + [next, .report]
    }

    /// Whether the partial file is the log of a stream, from which the file is still to be put together.
    var isStreamLog: Bool { resource?.stream?.isLog == true }

    /// Continues with the file that was put together from the log of a stream.
    mutating func assembled(_ file: Resource, _ persisted: PersistedRanges) -> [Action] {
        guard isStreamLog else { return [] }
        // Adopts the film in every state, because the film has already replaced the log on the disk.
        resource = file
        self.persisted = persisted
        return state == .verifying ? [.verify(settings.checksum)] : []
    }

    package mutating func verified(_ decision: Decision, at now: Instant) -> [Action] {
        guard state == .verifying else { return [] }
        switch decision {
        case .right, .unchecked:
            state = .publishing
            return [.publish]
        case .mismatch(let expected, let actual):
            if !settings.isRepair, sources.discardPrimary() || patience.refetches() {
                joining.dropBytes()
                return open(at: now)
            }
            let error = DownloadError(
                .checksumMismatch,
                settings.isRepair && settings.adopts != nil
                    ? "The file has the wrong digest: expected \(expected), got \(actual). What another program had received of it is wrong, or is of another version. The file has its own name again."
                    : settings.isRepair
                        ? "Every piece of the file is right, but its digest is wrong: expected \(expected), got \(actual). The digests contradict each other. The file stands under its own name, with every piece right."
                        : "The file has the wrong digest, twice: expected \(expected), got \(actual). It was not put under its name."
            )
            state = .failed(error)
            persisted = .zero
            transfer.forgetPieces()
            resource = nil
            return [.setAside, .releaseFile, .report]
        }
    }

    // MARK: Failing

    package mutating func fail(_ error: DownloadError) -> [Action] {
        holdIfDiskIsFull(error) ?? giveUp(error)
    }

    package mutating func giveUp(_ error: DownloadError) -> [Action] {
        state = .failed(error)
        // The file is unchanged since the other program left it, because no byte was joined to it.
        if isUnproved {
            persisted = .zero
            transfer.forgetPieces()
            resource = nil
            return link.stopAsking() + [.setAside, .releaseFile, .report]
        }
        return link.stopAsking() + [.checkpoint, .releaseFile, .report]
    }
}
