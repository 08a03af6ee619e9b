internal import HTTPTypes
internal import HaulKit
internal import Hummingbird

/// Route of the file of a download, with ranges (RFC 9110 §14). Downloaded bytes never appear as a page of this server:
/// only media and plain text are shown, without scripts. Everything else is an attachment.
///
/// Sends an unfinished file only if it is a film or music and the settings allow it.
struct FileRoute {
    let services: Services

    func add(to routes: RouteTable) {
        routes.get("/api/v1/downloads/:id/file") { request, context in try await answer(request, context) }
        routes.head("/api/v1/downloads/:id/file") { request, context in try await answer(request, context) }
    }

    private func answer(_ request: Request, _ context: ServerContext) async throws -> Response {
        var query = try Query(request)
        let isAttachment = try query.flag("download")
        try query.finish()
        let download = try await services.download(context)
        let snapshot = try await problems { () throws(DownloadError) in
            try await services.downloader.list(.ids([download.id])).first
        }
        guard let snapshot else { throw Self.notFinished }
        let kind = MediaKind(name: snapshot.name)
        let isFinished = snapshot.state == .completed
        let file =
            isFinished
            ? try await finished(download, snapshot) : try await arriving(download, snapshot, kind, isAttachment)
        let tag = isFinished ? try await tag(of: download, file) : file.entityTag
        if EntityTag.isNamed(tag, by: request.headers[.ifNoneMatch]) {
            return Response(status: .notModified, headers: [.eTag: tag])
        }
        var headers: HTTPFields = [
            .contentType: kind.type,
            .acceptRanges: "bytes",
            .eTag: tag,
            .contentDisposition: Disposition.field(snapshot.name, isAttachment: isAttachment || !kind.isShown),
        ]
        // Prevents the file from running scripts or reaching anything, even if a browser opens it as a page of its own.
        // A browser's player requests the film again from its page. The page needs this server's origin for that, which
        // a sandbox takes away.
        let policy = "default-src 'none'; media-src 'self'; img-src 'self'; style-src 'unsafe-inline'"
        headers[.contentSecurityPolicy] = kind.isPlayed ? policy : "sandbox; " + policy
        switch RequestedRange(request.head, length: file.length, entityTag: tag) {
        case .none:
            return respond(request, .ok, headers, file, 0..<file.length, mayWait: !isFinished)
        case .some(let range):
            headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.length)"
            return respond(request, .partialContent, headers, file, range, mayWait: !isFinished)
        case .unsatisfied:
            headers[.contentRange] = "bytes */\(file.length)"
            headers[.contentDisposition] = nil
            headers[.contentType] = nil
            return Response(status: .rangeNotSatisfiable, headers: headers)
        }
    }

    // MARK: Files

    private func finished(_ download: Download, _ snapshot: DownloadSnapshot) async throws -> any SentFile {
        guard let path = snapshot.path else { throw Self.missing }
        try checkPlace(of: path)
        let state = try await problems { () throws(DownloadError) in try await download.fileState() }
        guard state != .missing else { throw Self.missing }
        do { return try await OpenFile(path) } catch {
            throw Problem(.conflict, "notFinished", "The file cannot be read: \(error)")
        }
    }

    /// Returns the entity tag of a finished file: the tag of the unfinished file, so that a player that began earlier
    /// can go on, or the tag of the file system if the file was changed since.
    private func tag(of download: Download, _ file: any SentFile) async throws -> String {
        do throws(DownloadError) {
            guard let reader = try await download.reader(), reader.length == file.length else { return file.entityTag }
            return reader.entityTag
        } catch {
            if error.code == .shutDown { throw Problem(error) }
            return file.entityTag
        }
    }

    private func arriving(
        _ download: Download,
        _ snapshot: DownloadSnapshot,
        _ kind: MediaKind,
        _ isAttachment: Bool
    ) async throws -> any SentFile {
        guard services.configuration.playsUnfinished, kind.isPlayed, !isAttachment, snapshot.state != .cancelled,
            let path = snapshot.path
        else { throw Self.notFinished }
        try checkPlace(of: path)
        let reader: DownloadReader?
        do throws(DownloadError) { reader = try await download.reader() } catch {
            guard error.code == .contentChanged else { throw Problem(error) }
            throw Problem(.conflict, error.code.rawValue, error.message)
        }
        guard let reader else {
            throw Problem(
                .conflict,
                "notPlayable",
                "The file cannot be played yet: its length is unknown, or it is a stream that is still to be put together."
            )
        }
        return ArrivingFile(reader)
    }

    static let notFinished = Problem(.conflict, "notFinished", "The download has no finished file.")
    static let missing = Problem(
        .conflict,
        "notFinished",
        "The file is no longer where Haul saved it: it was moved, renamed or deleted. Add the URL again to download it."
    )

    /// Resolves the path again, because a folder in it may have become a link after the download, or the settings may
    /// no longer allow the folder.
    private func checkPlace(of path: String) throws(Problem) {
        guard let real = AllowedFolders.resolved(path),
            services.folders.roots.contains(where: { AllowedFolders.isInside(real, $0) })
        else { throw Problem(.forbidden, "forbiddenFolder", "The file is no longer in a folder that is allowed.") }
    }

    // MARK: Answers

    /// - Parameter mayWait: whether bytes of the file may be missing yet. The wait for them ends if the client leaves.
    private func respond(
        _ request: Request,
        _ status: HTTPResponse.Status,
        _ headers: HTTPFields,
        _ file: any SentFile,
        _ range: Range<Int64>,
        mayWait: Bool
    ) -> Response {
        var headers = headers
        let count = Int(range.upperBound - range.lowerBound)
        guard request.method != .head else {
            headers[.contentLength] = String(count)
            return Response(
                status: status,
                headers: headers,
                body: .init(contentLength: count) { writer in try await writer.finish(nil) }
            )
        }
        // Closes the connection after the answer, because the watch for a leaving client consumes all further input of
        // the client.
        if mayWait { headers[.connection] = "close" }
        return Response(
            status: status,
            headers: headers,
            body: .init(contentLength: count) { writer in
                let body = SendableWriter(writer)
                if mayWait {
                    try await request.body.consumeWithCancellationOnInboundClose { _ in
                        try await file.send(range, to: body)
                    }
                } else {
                    try await file.send(range, to: body)
                }
                try await writer.finish(nil)
            }
        )
    }
}
