internal import HTTPTypes
internal import HaulKit
internal import Hummingbird

/// Routes of sets: they preview a source, and sync folders with it.
struct SetRoutes {
    let services: Services
    private let answers = IdempotentAnswers()

    init(services: Services) { self.services = services }

    private struct File: Encodable {
        var name: String
        var size: Int64?
        /// Algorithm of the digest; `nil` if the set names no digest of the file.
        var proof: String?
    }
    private struct Preview: Encodable {
        var source: String
        var revision: String?
        /// The name of the set, for its folder and its group.
        var name: String
        var signedBy: String?
        var count: Int
        var bytes: Int64
        /// Number of files whose length is not known.
        var unknownSizes: Int
        var proofs: [String: Int]
        var refusedCount: Int
        var refused: [SetRow.Fault]
        var remarks: [String]
        var files: [File]
    }

    private static let mostFiles = 1000
    private static let mostRefused = 100
    private static let mostRemarks = 20

    func add(to routes: RouteTable) {
        routes.post("/api/v1/sets/preview") { request, context in
            var body = try await JSONBody(request)
            return try await preview(&body, context)
        }
        routes.post("/api/v1/sets") { request, context in
            let body = try await JSONBody(request)
            let owner = context.key?.owner
            return try await answers.answer(request, owner, body) { body in try await add(&body, owner) }
        }
        routes.get("/api/v1/sets") { request, context in
            JSONBody.response(["items": await services.sets.rows(of: context.key?.owner)], to: request)
        }
        routes.get("/api/v1/sets/:id") { request, context in
            guard let row = await services.sets.row(try Self.id(context), of: context.key?.owner) else {
                throw Self.unknown
            }
            return JSONBody.response(row, to: request)
        }
        routes.delete("/api/v1/sets/:id") { _, context in
            guard await services.sets.remove(try Self.id(context), of: context.key?.owner) else { throw Self.unknown }
            return Response(status: .noContent)
        }
    }

    private static let unknown = Problem(.notFound, "notFound", "There is no set with this id.")

    private static func id(_ context: ServerContext) throws(Problem) -> DownloadID {
        guard let id = context.parameters.get("id").flatMap({ DownloadID($0) }) else { throw unknown }
        return id
    }

    private func preview(_ body: inout JSONBody, _ context: ServerContext) async throws -> Response {
        let request = try SetRequest(&body)
        try body.finish()
        let access = services.configuration.hub(for: context.key?.owner)
        let (source, name) = try await problems { () throws(DownloadError) in
            (try request.made(access), try request.name(access))
        }
        let preview = try await context.whileConnected {
            try await problems { () throws(DownloadError) in try await listedInTime(source, request.options) }
        }
        return JSONBody.response(
            Preview(
                source: preview.origin,
                revision: preview.revision,
                name: name,
                signedBy: preview.signedBy,
                count: preview.files.count,
                bytes: preview.bytes,
                unknownSizes: preview.files.count { $0.size == nil },
                proofs: preview.proofs,
                refusedCount: preview.refused.count,
                refused: preview.refused.prefix(Self.mostRefused).map(SetRow.Fault.init),
                remarks: Array(preview.remarks.prefix(Self.mostRemarks)),
                files: preview.files.prefix(Self.mostFiles).map { file in
                    File(name: file.name, size: file.size, proof: file.checksum?.algorithmName)
                }
            )
        )
    }

    /// Lists a set within ``longestPreview``. The limit is needed because a server that answers 503 is asked again and
    /// again.
    private func listedInTime(_ source: any SetSource, _ options: SetOptions) async throws(DownloadError) -> FileSet {
        let list = Task { await listed(source, options) }
        let timer = Task {
            // `sleep` throws only when it is cancelled.
            if (try? await Task.sleep(for: Self.longestPreview)) != nil { list.cancel() }
        }
        defer { timer.cancel() }
        let result = await withTaskCancellationHandler {
            await list.value
        } onCancel: {
            list.cancel()
        }
        do throws(DownloadError) { return try result.get() } catch {
            guard error.code == .waitCancelled, !Task.isCancelled else { throw error }
            throw DownloadError(code: .timedOut, message: "The list of the set did not come within a minute.")
        }
    }

    private func listed(_ source: any SetSource, _ options: SetOptions) async -> Result<FileSet, DownloadError> {
        do throws(DownloadError) {
            return .success(try await services.downloader.preview(source, options: options))
        } catch { return .failure(error) }
    }

    private static let longestPreview = Duration.seconds(60)

    /// - Parameter owner: the owner of the key that sent the request; `nil` without a key.
    private func add(_ body: inout JSONBody, _ owner: String?) async throws -> Response {
        // Refuses the request if the store cannot record downloads.
        if let failure = services.downloader.storeFailure { throw Problem(failure) }
        let request = try SetRequest(&body)
        var wish = SetKeeper.Wish(owner: owner)
        let folder = try body.optional("folder", String.self).flatMap { $0.isEmpty ? nil : $0 }
        wish.group = try body.group()
        wish.verifies = try body.optional("verify") ?? false
        wish.deletes = try body.optional("delete") ?? false
        try body.finish()
        // A set replaces and removes files of its folder, so the key of a browser extension may name no folder and
        // delete nothing. ``SetKeeper`` chooses the folder of such a set.
        guard owner == nil || (folder == nil && !wish.deletes) else {
            throw Problem(
                .forbidden,
                "outOfScope",
                "The key of a browser extension may name no folder for a set, and remove no files."
            )
        }
        // Resolves the folder after the check of the key, so that the answer tells the key nothing about folders.
        wish.folder = try folder.map { try services.folders.folder($0) }
        return JSONBody.response(try await services.sets.add(request, wish), status: .accepted)
    }
}
