internal import Foundation
internal import HTTPTypes
internal import HaulKit

/// Options of an add request that apply to all its items.
struct AddOptions {
    var folder: String?
    var group: String?
    var priority: Int?
    var isPaused = false
    var onDuplicate: DownloadRequest.PresencePolicy?
    var onConflict: DownloadRequest.ConflictPolicy?
    var stream: DownloadRequest.Stream?

    /// - Throws: ``Problem`` for a field of a wrong type, or a folder that is not allowed.
    init(_ body: inout JSONBody, _ folders: AllowedFolders) throws {
        folder = try body.optional("folder")
        _ = try folders.folder(folder)
        group = try body.group()
        priority = try body.priority()
        isPaused = try body.optional("paused") ?? false
        onDuplicate = try body.optional("onDuplicate")
        onConflict = try body.optional("onConflict")
        if onConflict == .overwrite {
            throw Problem.invalidField("onConflict is rename, fail or skip.")
        }
        stream = try Self.stream(&body)
        do throws(DownloadError) { try stream?.check() } catch { throw Problem(error) }
    }

    func apply(to request: inout DownloadRequest) {
        request.group = group ?? request.group
        request.priority = priority ?? request.priority
        request.startsPaused = isPaused
        request.onDuplicate = onDuplicate ?? request.onDuplicate
        request.onConflict = onConflict ?? request.onConflict
        request.stream = stream ?? request.stream
    }

    /// Reads the options of a stream. ``DownloadRequest/Stream/check()`` checks their texts.
    ///
    /// - Returns: `nil` if the body has none.
    static func stream(_ body: inout JSONBody) throws -> DownloadRequest.Stream? {
        guard var fields = try body.object("stream") else { return nil }
        var stream = DownloadRequest.Stream()
        stream.variant = try fields.text("variant", upTo: 200)
        stream.audio = try fields.text("audio", upTo: 1024)
        stream.subtitles = try fields.text("subtitles", upTo: 1024)
        stream.container = try fields.optional("container") ?? stream.container
        stream.allowsGaps = try fields.optional("allowsGaps") ?? stream.allowsGaps
        stream.liveSeconds = try fields.optional("liveSeconds")
        stream.liveStart = try fields.optional("liveStart")
        stream.keepsPlaylist = try fields.optional("keepsPlaylist") ?? stream.keepsPlaylist
        try fields.finish()
        return stream
    }

    static func headers(_ body: inout JSONBody) throws -> [HeaderField] {
        let fields = try body.optional("headers", [String: String].self) ?? [:]
        return try fields.sorted { $0.key < $1.key }.map { name, value in
            guard value.utf8.count <= 16 << 10, let field = HeaderField(name, value) else {
                throw Problem.invalidField(
                    "A field of headers is longer than 16 KiB, or has characters that HTTP does not allow."
                )
            }
            return field
        }
    }
}

/// Reads one item of an add request.
struct ItemReader {
    private let common: AddOptions
    private let folders: AllowedFolders
    private let placement: PlacementRules
    private static let mostMirrors = 64

    init(_ common: AddOptions, _ folders: AllowedFolders, _ placement: PlacementRules) {
        (self.common, self.folders, self.placement) = (common, folders, placement)
    }

    /// Reads the request of an item. An unusable URL, folder, checksum or mirror fails only this item.
    ///
    /// - Throws: ``Problem`` for a field of a wrong name, type or value, which fails all items.
    func request(_ item: inout JSONBody) throws -> Result<DownloadRequest, Problem> {
        let url = try item.required("url", String.self)
        let name = try item.text("name", upTo: 1024)
        let folder = try item.optional("folder", String.self)
        let group = try item.group()
        let priority = try item.priority()
        let headers = try AddOptions.headers(&item)
        let checksum = try item.optional("checksum", String.self)
        let mirrors = try item.optional("mirrors", [String].self) ?? []
        let bytesPerSecond = try item.optional("bytesPerSecond", Int64.self)
        let size = try item.optional("size", Int64.self)
        let stream = try AddOptions.stream(&item)
        let page = try Self.page(&item)
        let type = try item.text("contentType", upTo: 1024)
        let failsOnChange = try item.optional("failsOnChange", Bool.self) ?? false
        try item.finish()
        guard size ?? 0 >= 0, bytesPerSecond ?? 0 >= 0 else {
            throw Problem.invalidField(
                "size and bytesPerSecond of an item must not be negative."
            )
        }
        guard mirrors.count <= Self.mostMirrors else {
            throw Problem.invalidField(
                "mirrors of an item has more than \(Self.mostMirrors) URLs."
            )
        }
        if let problem = JSONBody.problem(of: url, "The URL", upTo: 64 << 10) { return .failure(problem) }
        do {
            var request = try made(url)
            common.apply(to: &request)
            request.suggestedName = name.flatMap { $0.isEmpty ? nil : $0 }
            let place = try placement.placement(
                of: RuleTarget(request.url, name: request.suggestedName, type: type),
                folder: folder ?? common.folder,
                group: group ?? common.group,
                in: folders
            )
            request.destination = .folder(path: place.folder)
            (request.group, request.maxConnections) = (place.group, place.connections)
            request.priority = priority ?? request.priority
            request.headers = headers
            request.size = size
            request.stream = stream ?? request.stream
            request.page = page
            request.failsOnChange = failsOnChange
            request.bytesPerSecond = bytesPerSecond.flatMap { $0 > 0 ? $0 : nil }
            try refine(&request, checksum, mirrors)
            return .success(request)
        } catch let problem { return .failure(problem) }
    }

    /// Reads the URL of a page without its user info, which no browser shows or sends as a referrer.
    private static func page(_ item: inout JSONBody) throws -> URL? {
        guard let text = try item.text("page", upTo: 8 << 10), !text.isEmpty else { return nil }
        let problem = Problem.invalidField("page of an item is no http or https URL.")
        // Clients open the page, so a scheme that runs scripts or reads files is refused.
        guard var parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
            scheme == "http" || scheme == "https", parts.host?.isEmpty == false
        else { throw problem }
        (parts.user, parts.password) = (nil, nil)
        guard let url = parts.url else { throw problem }
        return url
    }

    /// Makes a request whose folder is not chosen yet.
    private func made(_ url: String) throws(Problem) -> DownloadRequest {
        do { return try DownloadRequest(url, to: .folder(path: folders.fallback)) } catch { throw Problem(error) }
    }

    private func refine(_ request: inout DownloadRequest, _ checksum: String?, _ mirrors: [String]) throws(Problem) {
        do throws(DownloadError) {
            try request.stream?.check()
            if let checksum { request.checksum = try DownloadRequest.Checksum(checksum) }
            for mirror in mirrors { request.mirrorURLs.append(try mirror.downloadURL()) }
        } catch { throw Problem(error) }
    }
}
