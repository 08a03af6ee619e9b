internal import Foundation
internal import Logging

/// A question to the application that is under way, and the end of the time for it.
struct SourceAsk {
    let id: DownloadMachine.AskID
    let work: Task<Void, Never>
    let limit: Task<Void, Never>

    func cancel() {
        work.cancel()
        limit.cancel()
    }
}

/// URLs from the application: requesting them, recording them, and accepting replacements.
extension Downloader {
    /// Continues a download from another URL of the same file, from now on.
    ///
    /// Received bytes are kept as for a URL of the ``SourceProvider`` (see ``DownloadSource``). Open connections to the
    /// old URL continue; every further request, and each after an interruption, uses the new URL. A paused download
    /// stays paused and a failed one failed until it is resumed. Returns when the new URL is recorded.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL`` when the URL is no `http` or `https` URL,
    ///   ``DownloadError/Code/fileExists`` when the download is complete, ``DownloadError/Code/notFound`` when the store has no
    ///   such download, ``DownloadError/Code/storeFailed``, ``DownloadError/Code/shutDown``.
    public func replaceSource(of id: DownloadID, with source: DownloadSource) async throws(DownloadError) {
        try checkIsOpen()
        guard source.url.isAskable else {
            throw DownloadError(.invalidURL, "This is not an http or https URL with a host: \(source.url.masked).")
        }
        if let task = tasks[id] { return try await replaceSource(of: task, with: source) }
        try await withCatalogLock { downloader throws(DownloadError) in
            guard let task = try await downloader.load(id) else { throw .notFound(id) }
            try await downloader.replaceSource(of: task, with: source)
        }
    }

    private func replaceSource(of task: DownloadTask, with source: DownloadSource) async throws(DownloadError) {
        if case .completed(let path) = task.machine.state {
            evict(task)
            throw DownloadError(
                .fileExists,
                "The download is complete, and its file is \(path). Nothing is left to be fetched."
            )
        }
        send(.sourceReplaced(adopt(source, task)), to: task)
        recordLink(task)
        task.hub.progressed(snapshot(of: task))
        await settled(task)
        evict(task)
    }

    // MARK: Asking

    func askForSource(_ id: DownloadMachine.AskID, _ reason: SourceQuery.Reason, _ task: DownloadTask) {
        task.sourceAsk?.cancel()
        guard let provider = configuration.sourceProvider else { return }
        let record = task.record
        let query = SourceQuery(
            id: task.id,
            key: record.key,
            group: record.groupName,
            owner: record.belongsTo,
            metadata: record.metadata.map(Metadata.init(json:)),
            url: reason == .noneYet ? nil : task.machine.settings.url,
            reason: reason
        )
        let (download, sleep, limit) = (task.id, time.sleep, configuration.sourceTimeout)
        // Two tasks, and whichever has something to say first is heard: one that does not end when it is cancelled holds up nobody.
        task.sourceAsk = SourceAsk(
            id: id,
            work: Task.detached { [weak self] in
                let answer: Result<DownloadSource, DownloadError>
                do {
                    answer = .success(try await provider(query))
                } catch let error as DownloadError where error.code == .tooManyOpenFiles {
                    answer = .failure(error)
                } catch {
                    answer = .failure(
                        DownloadError(.sourceFailed, "The source provider returned no URL.", cause: "\(error)")
                    )
                }
                await self?.sourceAnswered(id, answer, download)
            },
            limit: Task.detached { [weak self] in
                // Ends early only by cancellation, and then nobody waits for it.
                guard (try? await sleep(limit)) != nil else { return }
                let error = DownloadError(.sourceFailed, "The source provider returned no URL within \(limit).")
                await self?.sourceAnswered(id, .failure(error), download)
            }
        )
    }

    func cancelSource(_ id: DownloadMachine.AskID, _ task: DownloadTask) {
        guard task.sourceAsk?.id == id else { return }
        task.sourceAsk?.cancel()
        task.sourceAsk = nil
    }

    private func sourceAnswered(
        _ id: DownloadMachine.AskID,
        _ answer: Result<DownloadSource, DownloadError>,
        _ download: DownloadID
    ) {
        guard let task = tasks[download], task.sourceAsk?.id == id else { return }
        task.sourceAsk?.cancel()
        task.sourceAsk = nil
        switch answer {
        case .success(let source) where source.url.isAskable:
            send(.sourceFound(id, adopt(source, task)), to: task)
            recordLink(task)
        case .success(let source):
            let error = DownloadError(
                .sourceFailed,
                "The source provider returned no http or https URL with a host: \(source.url.masked)."
            )
            send(.sourceFailed(id, error), to: task)
        case .failure(let error):
            logger.debug("\(task.id): \(error)")
            send(.sourceFailed(id, error), to: task)
        }
    }

    // MARK: Taking

    /// Puts a link into the record, and tells the rest of the machine's knowledge of its host.
    private func adopt(_ source: DownloadSource, _ task: DownloadTask) -> DownloadMachine.Link {
        let date = time.date()
        task.record.take(source, now: date)
        task.machine.learn(knownLimit: pool.learnedLimit(of: Origin(source.url)))
        return .init(url: source.url, expiresAt: task.record.linkExpiresAt.map { instant($0, date) })
    }

    /// Nothing of the new link hangs on the record while none of its bytes is on the disk; from then on it is made durable first.
    private func recordLink(_ task: DownloadTask) {
        guard task.ownsRecord, task.machine.state != .cancelled else { return }
        if task.hasNoDiskState { return store.note(task.record) }
        step(task) { downloader, task in
            do throws(DownloadError) {
                try await downloader.store.commit(task.record, nil, durably: true)
            } catch { downloader.logger.debug("store: \(error)") }
        }
    }

    /// Before a download runs, its machine is told when its link expires: moments are counted from the start of this process.
    func learnLinkExpiry(_ task: DownloadTask) {
        guard configuration.sourceProvider != nil, let moment = task.record.linkExpiresAt else { return }
        task.machine.learn(linkExpiresAt: instant(moment, time.date()), at: time.now())
    }

    private func instant(_ moment: Date, _ now: Date) -> Instant {
        // A date may be any number, and `Duration` traps beyond its own range.
        let seconds = moment.timeIntervalSince(now)
        return time.now() + .seconds(seconds.isFinite ? min(max(seconds, -1e9), 1e9) : 1e9)
    }

    // MARK: Requests

    func checkSource(_ request: DownloadRequest) throws(DownloadError) {
        guard request.needsSource else { return }
        guard let key = request.key, !key.isEmpty else {
            throw DownloadError(
                .invalidURL,
                "A request without a URL needs a key for the source provider."
            )
        }
        guard configuration.sourceProvider != nil else {
            throw DownloadError(
                .invalidURL,
                "The request \(key) has no URL, and there is no source provider. Set Configuration.sourceProvider."
            )
        }
    }

    /// What the machine of a stored download is told of it: the link that came last counts.
    func settings(_ request: DownloadRequest, _ record: DownloadRecord) -> DownloadMachine.Settings {
        var settings = settings(request)
        if let link = record.wishes.link.flatMap(URL.init(string:)), link.isAskable {
            (settings.url, settings.target) = (link, nil)
            settings.isLinkVouchedFor = true
        }
        return settings
    }
}

extension DownloadRecord {
    /// The header fields that go to the origin of the present link.
    var headers: [HeaderField] {
        if let headers = wishes.linkHeaders { return headers }
        guard let link = wishes.link.flatMap(URL.init(string:)) else { return wishes.headers }
        // What was meant for one origin is not for another to hear.
        return URL(string: url).map { Origin($0) == Origin(link) } == true ? wishes.headers : []
    }

    /// Whether an origin is another than that of a URL that the user named.
    func isChosenByOthers(_ origin: Origin) -> Bool {
        wishes.isChosenByDocument == true || URL(string: url).map { Origin($0) != origin } ?? true
    }

    /// Takes over a link that the application named.
    mutating func take(_ source: DownloadSource, now: Date) {
        let earlier = URL(string: wishes.link ?? url)
        if let earlier, !DownloadRequest.isPlaceholder(earlier), resource?.place == nil {
            resource?.place = earlier.place
        }
        if let headers = source.headers {
            wishes.linkHeaders = headers
        } else if let earlier, DownloadRequest.isPlaceholder(earlier) {
            // There was nobody else that they can have been meant for.
            wishes.linkHeaders = wishes.headers
        } else if earlier.map({ Origin($0) != Origin(source.url) }) ?? true {
            wishes.linkHeaders = nil
        }
        wishes.link = source.url.absoluteString
        host = source.url.host?.lowercased()
        let moment = source.expiresAt ?? LinkExpiry.date(in: source.url)
        linkExpiresAt = moment.flatMap { $0 > now ? $0 : nil }
    }
}
