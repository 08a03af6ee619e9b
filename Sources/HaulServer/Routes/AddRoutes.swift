internal import Foundation
internal import HTTPTypes
internal import HaulKit
internal import Hummingbird

/// Routes that add downloads, and that probe links before an addition.
struct AddRoutes {
    let services: Services
    private let answers = IdempotentAnswers()

    init(services: Services) { self.services = services }

    private struct Item: Encodable {
        var download: DownloadRow?
        var existed = false
        var error: Problem?
    }
    private struct Answer: Encodable {
        var items: [Item]
        var rev: String
    }
    private struct Probe: Encodable {
        var url: String
        var name: String?
        var totalBytes: Int64?
        var contentType: String?
        var servesRanges: Bool?
        var stream: ResourceDescription.Stream?
        var error: Problem?
        var existing: DownloadRow?
    }

    func add(to routes: RouteTable) {
        routes.post("/api/v1/downloads") { request, context in
            let body = try await JSONBody(request)
            let owner = context.key?.owner
            return try await answers.answer(request, owner, body) { body in try await add(&body, owner) }
        }
        routes.post("/api/v1/probe") { request, context in
            var body = try await JSONBody(request)
            return try await probe(&body, context)
        }
    }

    /// - Parameter owner: the owner of the API key that sent the request, for the added downloads; `nil` without an API
    ///   key.
    private func add(_ body: inout JSONBody, _ owner: String?) async throws -> Response {
        // Refuses the whole request if the store cannot record downloads.
        if let failure = services.downloader.storeFailure { throw Problem(failure) }
        let common = try AddOptions(&body, services.folders)
        var wanted: [Result<DownloadRequest, Problem>] = []
        if let text = try body.optional("metalink", String.self) {
            let metalink = try await problems { () throws(DownloadError) in try Metalink(Data(text.utf8)) }
            for file in metalink.files { wanted.append(request(file, common)) }
        }
        let items = try body.objects("items") ?? []
        try body.finish()
        guard !items.isEmpty || !wanted.isEmpty else {
            throw Problem(.unprocessableContent, "missingField", "items is missing or empty.")
        }
        guard items.count + wanted.count <= 1000 else {
            throw Problem(.unprocessableContent, "tooManyItems", "At most 1,000 downloads may be added in one request.")
        }
        for var item in items {
            // A field with a wrong name or type fails the whole request; an unusable URL or folder fails only its item.
            wanted.append(try ItemReader(common, services.folders, services.live.placement).request(&item))
        }
        let start = Date()
        // The downloader lets the request of an owner join no download of another one.
        let requests = wanted.compactMap { wanted -> DownloadRequest? in
            guard case .success(var request) = wanted else { return nil }
            request.owner = owner
            return request
        }
        let results = await services.downloader.add(requests)
        var rest = results.makeIterator()
        var answer = Answer(items: [], rev: "")
        for wanted in wanted {
            switch wanted {
            case .failure(let problem): answer.items.append(Item(error: problem))
            case .success:
                switch rest.next() {
                case .success(let download):
                    let existed = Self.existed(download, start)
                    answer.items.append(Item(download: DownloadRow(download.snapshot), existed: existed))
                case .failure(let error): answer.items.append(Item(error: Problem(error)))
                case nil: answer.items.append(Item(error: Problem(.internalServerError, "internalFault", "No answer.")))
                }
            }
        }
        answer.rev = await services.feed.position
        return JSONBody.response(answer)
    }

    /// Makes the request of a Metalink's file. A folder that is not allowed fails only this file.
    private func request(_ file: Metalink.File, _ common: AddOptions) -> Result<DownloadRequest, Problem> {
        do throws(Problem) {
            let place = try services.live.placement.placement(
                of: RuleTarget(DownloadRequest(file, into: services.folders.fallback).url, name: file.name),
                folder: common.folder,
                group: common.group,
                in: services.folders
            )
            var request = DownloadRequest(file, into: place.folder)
            common.apply(to: &request)
            (request.group, request.maxConnections) = (place.group, place.connections)
            return .success(request)
        } catch { return .failure(error) }
    }

    /// Whether the download existed before `start`. Allows 1 ms, because the store keeps the time in milliseconds.
    private static func existed(_ download: Download, _ start: Date) -> Bool {
        download.snapshot.addedAt < start - 0.001
    }

    private func probe(_ body: inout JSONBody, _ context: ServerContext) async throws -> Response {
        let owner = context.key?.owner
        let urls = try body.required("urls", [String].self)
        let headers = try AddOptions.headers(&body)
        try body.finish()
        guard (1...50).contains(urls.count) else {
            throw Problem.invalidField("urls must have 1 to 50 items.")
        }
        let probes = try await context.whileConnected { await probe(urls, headers, owner) }
        return JSONBody.response(["items": probes])
    }

    private func probe(_ urls: [String], _ headers: [HeaderField], _ owner: String?) async -> [Probe] {
        await withTaskGroup(of: (Int, Probe).self) { group in
            var results: [Int: Probe] = [:]
            for (index, url) in urls.enumerated() {
                // Runs 8 probes at a time, because each may wait for a slow server.
                if index >= 8, let (done, probe) = await group.next() { results[done] = probe }
                group.addTask { (index, await probe(url, headers, owner)) }
            }
            for await (done, probe) in group { results[done] = probe }
            return urls.indices.compactMap { results[$0] }
        }
    }

    private func probe(_ url: String, _ headers: [HeaderField], _ owner: String?) async -> Probe {
        do throws(DownloadError) {
            var request = try DownloadRequest(url, to: .folder(path: services.folders.fallback))
            request.headers = headers
            let existing = try await services.downloader.find(url: url)?.snapshot
            let found = try await services.downloader.probe(request)
            return Probe(
                url: url,
                name: found.fileName,
                totalBytes: found.totalBytes,
                contentType: found.contentType,
                servesRanges: found.servesRanges,
                stream: found.stream,
                existing: existing.flatMap { owner == nil || $0.owner == owner ? DownloadRow($0) : nil }
            )
        } catch { return Probe(url: url, error: Problem(error)) }
    }
}
