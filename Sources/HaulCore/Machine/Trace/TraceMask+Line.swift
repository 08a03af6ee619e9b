internal import Foundation

/// Returns values without secrets and without facts about the user's computer. The switches name every case, so that
/// the compiler reports each new case.
extension TraceMask {
    typealias Machine = DownloadMachine

    package mutating func masked(_ line: TraceLine) -> TraceLine {
        var line = line
        if let initial = line.machine { line.machine = masked(initial) }
        if let step = line.step { line.step = masked(step) }
        return line
    }

    private mutating func masked(_ initial: Machine.Initial) -> Machine.Initial {
        var initial = initial
        initial.settings = masked(initial.settings)
        initial.resource = masked(initial.resource)
        switch initial.state {
        case .failed(let error): initial.state = .failed(masked(error))
        case .completed: initial.state = .completed(path: Self.path)
        case .backingOff(let until, let error): initial.state = .backingOff(until: until, because: masked(error))
        case .connecting(let id, let request): initial.state = .connecting(id, masked(request))
        case .comparing(let id, let request): initial.state = .comparing(id, masked(request))
        case .preparing(let id, let preparation, let end):
            initial.state = .preparing(id, masked(preparation), ended: end.map(masked))
        case .queued, .inspectingDisk, .awaitingURL, .choosing, .transferring, .verifying, .publishing, .paused,
            .cancelled:
            break
        }
        return initial
    }

    private mutating func masked(_ step: TraceLine.Step) -> TraceLine.Step {
        var step = step
        step.event = masked(step.event)
        step.actions = step.actions.map { masked($0) }
        // A placeholder URL contains the application's name for the download, so its origin is left out.
        step.surroundings = step.surroundings.map { surroundings in
            var surroundings = surroundings
            surroundings.connectionSlots = surroundings.connectionSlots.filter {
                $0.key.scheme != DownloadRequest.placeholderScheme
            }
            return surroundings
        }
        return step
    }

    private mutating func masked(_ version: Machine.StoredVersion?) -> Machine.StoredVersion? {
        version.map { Machine.StoredVersion(resource: masked($0.resource), isRepair: $0.isRepair) }
    }

    private mutating func masked(_ event: Machine.Event) -> Machine.Event {
        switch event {
        case .reconfigured: event
        case .retargeted(let settings, let isReplaced):
            .retargeted(masked(settings), isFromReplacedSource: isReplaced)
        case .spaceMissing(let reason, let error, let version):
            .spaceMissing(reason, masked(error), of: masked(version))
        case .recovered(let ranges, let version): .recovered(ranges, of: masked(version))
        case .headReceived(let id, let head, let retryAfter): .headReceived(id, masked(head), retryAfter: retryAfter)
        case .blocksUnreadable(let id, let error): .blocksUnreadable(id, masked(error))
        case .connectionEnded(let id, let end): .connectionEnded(id, masked(end))
        case .sourceFound(let id, let link): .sourceFound(id, masked(link))
        case .sourceFailed(let id, let error): .sourceFailed(id, masked(error))
        case .sourceReplaced(let link): .sourceReplaced(masked(link))
        case .published: .published(path: Self.path)
        case .renamed: .renamed(path: Self.path)
        case .skipped: .skipped(path: Self.path)
        case .stepFailed(let error): .stepFailed(masked(error))
        case .assembled(let file, let persisted): .assembled(masked(file) ?? file, persisted)
        case .slotGranted, .hostKnown, .slotWithdrawn, .pauseRequested, .resumeRequested, .cancelRequested, .held,
            .holdEnded, .blocksChosen, .prepared, .bytesLanded, .pieceChecked, .readersWait, .connectionWanted,
            .timerFired, .verified:
            event
        }
    }

    private mutating func masked(_ action: Machine.Action) -> Machine.Action {
        switch action {
        case .open(let id, let request): .open(id, masked(request))
        case .prepare(let id, let preparation): .prepare(id, masked(preparation))
        case .recover, .askForSource, .cancelSource, .chooseBlocks, .startBody, .startBodyAtSeam, .shorten, .close,
            .checkPiece, .forget,
            .learnLimit, .learnWorth, .learnChangeUnderOneName, .checkpoint, .startTimer, .cancelTimer, .assemble,
            .verify, .cancelVerification,
            .publish,
            .setAside,
            .discardPartial, .releaseFile, .report:
            action
        }
    }

    // MARK: Values in events and actions

    private mutating func masked(_ settings: Machine.Settings) -> Machine.Settings {
        var settings = settings
        settings.url = masked(settings.url)
        settings.target = settings.target.map { masked(target: $0) }
        settings.mirrors = settings.mirrors.map { masked($0) }
        return settings
    }

    private mutating func masked(_ source: Metalink.Source) -> Metalink.Source {
        var copy = source
        copy.url = masked(source.url)
        copy.target = source.target.map { masked(target: $0) }
        return copy
    }

    private mutating func masked(_ resource: Resource?) -> Resource? {
        guard var resource else { return nil }
        resource.mirror = resource.mirror.map { masked($0) }
        resource.place = resource.place.map { masked($0) }
        resource.redirectedTo = resource.redirectedTo.map { masked($0) }
        return resource
    }

    private mutating func masked(_ request: RangeRequest) -> RangeRequest {
        var request = request
        request.known = masked(request.known)
        return request
    }

    private mutating func masked(_ preparation: Machine.Preparation) -> Machine.Preparation {
        var preparation = preparation
        preparation.resource = masked(preparation.resource) ?? preparation.resource
        preparation.afterComparing = masked(preparation.afterComparing)
        preparation.nameSources = preparation.nameSources.map { masked($0) }
        preparation.mirrors = preparation.mirrors.map { masked($0) }
        return preparation
    }

    private mutating func masked(_ link: Machine.Link) -> Machine.Link {
        var link = link
        link.url = masked(link.url)
        return link
    }

    /// Header fields that the machine reads.
    private static let fields: Set<String> = [
        "accept-ranges", "content-disposition", "content-encoding", "content-length", "content-range", "content-type",
        "date", "digest", "etag", "last-modified", "repr-digest", "retry-after", "transfer-encoding",
    ]

    private mutating func masked(_ head: ResponseHead) -> ResponseHead {
        var fields = head.headers.lines.filter { Self.fields.contains($0.name.lowercased()) }.map {
            ($0.name, $0.value)
        }
        // Keeps only links to mirrors, with URLs as the machine resolves them.
        for mirror in MirrorLinks(head.headers["Link"], base: head.url).mirrors {
            let source = masked(mirror.source)
            let target = source.target.map { Origin(source.url).text + $0 } ?? source.url.absoluteString
            let location = source.location.map { "; geo=\($0)" } ?? ""
            fields.append(("Link", "<\(target)>; rel=duplicate; pri=\(source.priority)\(location)"))
        }
        var masked = ResponseHead(
            status: head.status,
            headers: HeaderFields(fields),
            url: masked(head.url),
            requested: masked(head.requested),
            credentials: head.credentials
        )
        masked.isStreamLog = head.isStreamLog
        return masked
    }

    private func masked(_ end: Machine.ConnectionEnd) -> Machine.ConnectionEnd {
        switch end {
        case .failed(let error, let ranges): .failed(masked(error), ranges)
        case .diskFailed(let error, let ranges): .diskFailed(masked(error), ranges)
        case .finished, .overlapDiffers, .noConnectionSlot: end
        }
    }

    // MARK: Errors and paths

    /// Replacement for every path.
    private static let path = "***"

    /// Returns the error without its texts. They may quote a server, a program or a path, and no decision depends on
    /// them.
    private func masked(_ error: DownloadError) -> DownloadError { DownloadError(error.code, "", status: error.status) }

    private func masked(_ error: TransportError) -> TransportError {
        guard let report = error.report else { return TransportError(error.kind) }
        return error.isReportPassing == true
            ? TransportError(retrying: masked(report), after: error.retryAfter)
            : TransportError(reporting: masked(report))
    }

    private func masked(_ error: DiskError) -> DiskError {
        error.errno == 0
            ? DiskError(error.kind, call: error.call, path: Self.path)
            : DiskError(error.kind, errno: error.errno, call: error.call, path: Self.path)
    }
}
