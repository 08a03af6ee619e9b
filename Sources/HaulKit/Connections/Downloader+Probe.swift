internal import Foundation

/// Requests that describe a file without downloading it.
extension Downloader {
    /// Asks a server for the name, length, type and version of a file, and whether the server supports ranges. Nothing
    /// is downloaded or stored.
    ///
    /// Sends one request for the first byte (`Range: bytes=0-0`), with the method of `request`, and closes the
    /// connection when the head of the response has arrived. If the file is the playlist of a stream, further requests
    /// read it and at most one playlist of segments, unless ``DownloadRequest/Stream/keepsPlaylist`` is set. A failure
    /// is not retried. Header fields, credentials, cookies, proxies and redirects are those of a download of the same
    /// request. A link that works only once is used up. The call does not use the destination and the mirrors of the
    /// request, nor ``Downloader/Configuration/Sources/provider``.
    ///
    /// The call waits for a connection slot for at most half a second. After that, it exceeds the limits of
    /// connections. At most two calls may exceed the limit of a host at once; further calls wait.
    ///
    /// - Throws: ``DownloadError``, with the codes of a download for network failures and refusals by the server;
    ///   ``DownloadError/Code/invalidURL``, also for a request without a URL; the other codes of
    ///   ``add(_:)-(DownloadRequest)`` for an invalid request; ``DownloadError/Code/waitCancelled`` when the task is
    ///   cancelled; ``DownloadError/Code/shutDown``.
    public func probe(_ request: DownloadRequest) async throws(DownloadError) -> ResourceDescription {
        try checkIsOpen()
        guard !request.needsSource else { throw .noURL }
        try checkSource(request)
        let request = try Self.checked(request)
        let host = Origin(request.url)
        try await reserve(host)
        let collector = ResponseCollector()
        let call = TransportRequest(
            url: request.url,
            target: request.target,
            headers: request.headers,
            method: request.method,
            firstByte: 0,
            end: 1,
            allowsInsecureRedirects: request.allowsInsecureRedirects,
            isChosenByOthers: request.isChosenByDocument,
            cookies: CookieJar(cookieCollection)
        )
        let answer = await withTaskCancellationHandler {
            await collector.response(to: call, over: readers)
        } onCancel: {
            collector.cancel()
        }
        engine.broker.gone(host)
        if case .success(let response) = answer {
            var description = try ResourceDescription(response.head, to: request)
            if request.method == .get, request.stream?.keepsPlaylist != true {
                try await describeStream(&description, response.head, call, request)
            }
            return description
        }
        try checkIsOpen()
        if Task.isCancelled { throw Self.isProbeCancelled }
        guard case .failure(let failure) = answer else { throw Self.isProbeCancelled }
        throw RetryClassifier.decision(on: failure, host: request.url.host ?? "").error
    }

    /// Asks a server as ``probe(_:)-(DownloadRequest)`` does. `source` gives the URL: a text, a `URL` or a type of the
    /// application.
    ///
    /// - Throws: as ``probe(_:)-(DownloadRequest)``.
    public func probe(_ source: some DownloadRequest.URLConvertible) async throws(DownloadError) -> ResourceDescription
    {
        try await probe(try DownloadRequest(source, to: .folder(path: ".")))
    }

    /// Waits for a connection slot of the host, and asks the download with the most connections to give one up. If none
    /// is free within `patienceOfProbe`, takes one beyond the limit.
    private func reserve(_ host: Origin) async throws(DownloadError) {
        let start = services.time.now()
        var hasAsked = false
        // Keeps a download from taking the slot back between two probes.
        pool.beginning(host)
        while !pool.reserve(host) {
            let isLate = services.time.now() - start >= Self.patienceOfProbe
            if isLate, pool.reserveBeyond(host) { return }
            if Task.isCancelled { throw Self.isProbeCancelled }
            if !hasAsked { engine.broker.requestSlot(host) }
            hasAsked = true
            await waitForRelease(atMost: isLate ? nil : Self.patienceOfProbe)
            try checkIsOpen()
        }
    }

    private static let patienceOfProbe = Duration.milliseconds(500)

    /// Returns when a connection to any host has ended, when `time` is over (`nil`: no limit), or when the task is
    /// cancelled.
    private func waitForRelease(atMost time: Duration?) async {
        let number = pool.newReleaseWaiter()
        let timer = time.map { time in
            Task { [weak self, sleep = services.time.sleep] in
                // `sleep` throws only when it is cancelled.
                if (try? await sleep(time)) != nil { await self?.stopWaitingForRelease(number) }
            }
        }
        defer { timer?.cancel() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { pool.waitForRelease(number, $0) }
        } onCancel: {
            Task { await self.stopWaitingForRelease(number) }
        }
    }

    private func stopWaitingForRelease(_ number: Int) { pool.stopWaitingForRelease(number) }

    static let isProbeCancelled = DownloadError(.waitCancelled, "The wait for the answer was cancelled.")
}
