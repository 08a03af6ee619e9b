internal import Foundation

/// What a server says of a file, without a download.
extension Downloader {
    /// Asks a server for name, length, type and version of a file, and whether it serves ranges. Nothing is downloaded or
    /// stored.
    ///
    /// Sends one GET request for the first byte (`Range: bytes=0-0`) and closes the connection when the head of the
    /// response has arrived; there is no further attempt after a failure. Header fields, credentials, cookies, proxies and
    /// redirects are those of a download of the same request, and the limits of connections apply: the call waits for
    /// a connection slot, but for half a second only. After that it goes beyond the limits, as at most two calls at once may.
    /// A link that works once is used up. The destination and the mirrors of the request are not used, nor is
    /// ``Downloader/Configuration/Sources/provider``.
    ///
    /// - Throws: ``DownloadError`` as a download fails by the network or the server's refusal;
    ///   ``DownloadError/Code/invalidURL``, also for a request without a URL, or
    ///   ``DownloadError/Code/unsupportedScheme``; ``DownloadError/Code/waitCancelled`` when the task is cancelled;
    ///   ``DownloadError/Code/shutDown``.
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
        if case .success(let response) = answer { return try ResourceDescription(response.head, to: request) }
        try checkIsOpen()
        if Task.isCancelled { throw Self.isProbeCancelled }
        guard case .failure(let failure) = answer else { throw Self.isProbeCancelled }
        throw RetryClassifier.decision(on: failure, host: request.url.host ?? "").error
    }

    /// The same for anything that gives a URL: a text, a `URL`, a type of the application.
    ///
    /// - Throws: as ``probe(_:)-(DownloadRequest)``.
    public func probe(_ source: some DownloadRequest.URLConvertible) async throws(DownloadError) -> ResourceDescription
    {
        try await probe(try DownloadRequest(source, to: .folder(path: ".")))
    }

    /// Returns when the caller has a connection slot of the host. A download that has several connections gives one up for it; where none
    /// does, or the downloads that wait take it, the caller goes beyond the limit soon.
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

    /// Returns when a connection has ended, to whichever host, when the time is over, or when the task is cancelled.
    private func waitForRelease(atMost time: Duration?) async {
        let number = pool.newReleaseWaiter()
        let timer = time.map { time in
            Task { [weak self, sleep = services.time.sleep] in
                // Sleeping ends early only by cancellation.
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
