internal import Foundation
internal import HTTPTypes
internal import HaulKit
internal import Hummingbird

/// Routes that change one download, or many in one request.
struct ControlRoutes {
    let services: Services

    func add(to routes: RouteTable) {
        routes.patch("/api/v1/downloads/:id") { request, context in try await change(request, context) }
        routes.delete("/api/v1/downloads/:id") { request, context in
            var query = try Query(request)
            let deletesFile = try query.flag("file")
            try query.finish()
            let download = try await services.download(context)
            try await problems { () throws(DownloadError) in try await download.remove(deletingFile: deletesFile) }
            return Response(status: .noContent)
        }
        for action in OneAction.allCases {
            routes.post("/api/v1/downloads/:id/\(action.rawValue)") { request, context in
                try await act(action, request, context)
            }
        }
        routes.post("/api/v1/downloads/actions") { request, _ in try await actions(request) }
        routes.post("/api/v1/downloads/move") { request, _ in try await move(request) }
    }

    private enum OneAction: String, CaseIterable {
        case pause, resume, retry, start, cancel, again
    }

    private func act(_ action: OneAction, _ request: Request, _ context: ServerContext) async throws -> Response {
        let download = try await services.download(context)
        let row = DownloadRow(download.snapshot)
        try await problems { () throws(DownloadError) in
            switch action {
            case .pause: try await download.pause()
            case .resume, .retry: try await download.resume()
            case .start: try await download.startNow()
            case .cancel: try await download.cancel()
            case .again: _ = try await download.fetchAgain()
            }
        }
        if action == .cancel { return JSONBody.response(row) }
        return JSONBody.response(try await services.row(download.id))
    }

    private func change(_ request: Request, _ context: ServerContext) async throws -> Response {
        let download = try await services.download(context)
        var body = try await JSONBody(request)
        let name = try body.text("name", upTo: 1024)
        let path = try body.text("folder", upTo: 4095)
        let priority = try body.priority()
        let bytesPerSecond = try body.optional("bytesPerSecond", Int64.self)
        let source = try source(&body)
        try body.finish()
        guard bytesPerSecond ?? 0 >= 0 else { throw Problem.invalidField("bytesPerSecond must not be negative.") }
        if context.key != nil, name != nil || path != nil || priority != nil || bytesPerSecond != nil {
            throw KeyScope.refusal
        }
        // Checks all fields before the first change, so that a request with a wrong field changes nothing.
        let folder = try path.map { try services.folders.folder($0) }
        let snapshot = download.snapshot
        try await problems { () throws(DownloadError) in
            if let name { try FileName.checkGiven(name) }
            if let source { try await services.downloader.checkSource(source, for: snapshot) }
        }
        try await relocate(download, folder, name)
        do throws(DownloadError) {
            if let priority { try await download.setPriority(priority) }
            if let bytesPerSecond { try await download.setSpeedLimit(bytesPerSecond > 0 ? bytesPerSecond : nil) }
            if let source { try await download.replaceSource(source) }
        } catch {
            var problem = Problem(error)
            if name != nil || folder != nil {
                await services.feed.changed(download.snapshot)
                problem.detail += " Its name and its folder were changed before."
            }
            throw problem
        }
        let row = try await services.row(download.id)
        await services.feed.changed(download.snapshot)
        if priority != nil { await services.feed.markStale() }
        return JSONBody.response(row)
    }

    /// - Parameters:
    ///   - folder: an absolute path that is allowed; `nil` for the present folder.
    ///   - name: a name that has been checked; `nil` for the present name.
    private func relocate(_ download: Download, _ folder: String?, _ name: String?) async throws {
        guard folder != nil || name != nil else { return }
        let isFinished = download.snapshot.state == .completed
        if isFinished {
            let state = try await problems { () throws(DownloadError) in try await download.fileState() }
            guard state != .missing else { throw FileRoute.missing }
        }
        do throws(DownloadError) { try await download.relocate(toFolder: folder, name: name) } catch {
            // Reports a conflict if another program has replaced the file.
            if isFinished, error.code == .diskFailed, try await isReplaced(download) {
                throw Problem(.conflict, "fileReplaced", error.message)
            }
            // Name and path have been checked, so the reason is that the folder is on another disk.
            guard error.code == .invalidDestination else { throw Problem(error) }
            throw Problem(.conflict, "otherDisk", error.message)
        }
    }

    private func isReplaced(_ download: Download) async throws -> Bool {
        try await problems { () throws(DownloadError) in try await download.fileState() != .unchanged }
    }

    private func source(_ body: inout JSONBody) throws -> DownloadSource? {
        guard var object = try body.object("source") else { return nil }
        let text = try object.required("url", String.self)
        let headers = try AddOptions.headers(&object)
        try object.finish()
        do { return DownloadSource(try text.downloadURL(), headers: headers.isEmpty ? nil : headers) } catch {
            throw Problem(error)
        }
    }

    // MARK: Many

    private enum Action: String, Decodable {
        case pause, resume, retry, cancel, remove, setPriority
    }
    private struct Failure: Encodable {
        var id: DownloadID
        var error: Problem
    }
    private struct Answer: Encodable {
        var changed: Int
        /// Number of files that stay although `deleteFiles` was set; `nil` instead of 0.
        var keptFiles: Int?
        var errors: [Failure]
        var rev: String
    }

    private func actions(_ request: Request) async throws -> Response {
        var body = try await JSONBody(request)
        let action = try body.required("action", Action.self)
        let filter = try selection(&body)
        let deletesFiles = try body.optional("deleteFiles", Bool.self) ?? false
        let priority = try body.priority()
        try body.finish()
        guard priority != nil || action != .setPriority else {
            throw Problem(.unprocessableContent, "missingField", "priority is missing.")
        }
        let downloader = services.downloader
        var errors: [Failure] = []
        if let ids = filter.ids, ids.count <= 500 {
            let known = try await problems { () throws(DownloadError) in try await downloader.list(.ids(ids)) }.map(
                \.id
            )
            errors = ids.subtracting(known).map { id in
                Failure(id: id, error: Problem(.notFound, "notFound", "There is no download with this id."))
            }
        }
        var keptFiles = 0
        let changed = try await problems { () throws(DownloadError) in
            switch action {
            case .pause: return try await downloader.pause(filter)
            case .resume: return try await downloader.resume(filter)
            case .retry: return try await downloader.retry(filter)
            case .cancel: return try await downloader.cancel(filter)
            case .remove:
                let removal = try await downloader.removal(of: filter, deletingFiles: deletesFiles)
                keptFiles = removal.keptFiles
                return removal.count
            case .setPriority:
                try await downloader.setPriority(priority ?? 0, of: filter)
                return try await downloader.count(filter)
            }
        }
        await services.feed.markStale()
        return JSONBody.response(
            Answer(
                changed: changed,
                keptFiles: keptFiles > 0 ? keptFiles : nil,
                errors: errors,
                rev: await services.feed.position
            )
        )
    }

    private func selection(_ body: inout JSONBody) throws -> DownloadFilter {
        let ids = try body.optional("ids", Set<DownloadID>.self)
        let except = try body.optional("except", Set<DownloadID>.self) ?? []
        guard (ids?.count ?? 0) <= 10_000, except.count <= 10_000 else {
            throw Problem(.unprocessableContent, "tooManyItems", "At most 10,000 ids may be named.")
        }
        guard var object = try body.object("filter") else {
            guard let ids else { throw Problem(.unprocessableContent, "missingField", "Name ids or a filter.") }
            return .ids(ids.subtracting(except))
        }
        guard ids == nil else { throw Problem.invalidField("Name either ids or a filter.") }
        var filter = DownloadFilter()
        filter.states = try object.optional("state", [String].self).map(DownloadFilter.states)
        filter.group = try object.optional("group", String.self)
        filter.text = try object.optional("text", String.self).flatMap { $0.isEmpty ? nil : $0 }
        try object.finish()
        if !except.isEmpty { filter.predicate = { !except.contains($0.id) } }
        return filter
    }

    private func move(_ request: Request) async throws -> Response {
        var body = try await JSONBody(request)
        let ids = try body.required("ids", [DownloadID].self)
        let to = try body.optional("to", String.self)
        let before = try body.optional("before", DownloadID.self)
        let after = try body.optional("after", DownloadID.self)
        try body.finish()
        guard ids.count <= 10_000 else {
            throw Problem(.unprocessableContent, "tooManyItems", "At most 10,000 ids may be named.")
        }
        let place: Downloader.Place
        switch (to, before, after) {
        case ("first", nil, nil): place = .first
        case ("last", nil, nil): place = .last
        case (nil, let id?, nil): place = .before(id)
        case (nil, nil, let id?): place = .after(id)
        default:
            throw Problem.invalidField("Name one of: to (first or last), before, after.")
        }
        try await problems { () throws(DownloadError) in try await services.downloader.move(ids, to: place) }
        await services.feed.markStale()
        return Response(status: .noContent)
    }
}
