internal import Foundation
internal import HaulKit
internal import HaulServer

/// Reads and changes the options of downloads and of the process.
extension Aria2Session {
    // MARK: Of a download

    /// Returns the options of a download: the options at its addition, later changes, and the header fields of its
    /// request.
    ///
    /// - Parameter forClient: whether the options are for a client, which gets only the header fields and credentials of
    ///   ``Aria2Record/shownFields(of:)``.
    func options(of snapshot: DownloadSnapshot, forClient: Bool) async throws(Aria2Error) -> Aria2Options {
        let record = record(of: snapshot)
        var options = record.allOptions
        if let changed = changedOptions[snapshot.id] { options.merge(changed) }
        let downloader = downloader
        let request = try await engine { () throws(DownloadError) in
            try await downloader.find(id: snapshot.id)?.request()
        }
        guard let request else { return options }
        do throws(Aria2OptionError) {
            let fields = forClient ? record.shownFields(of: request) : request.headers
            let own = fields.filter { !Self.isOfOption($0, options) }
            if !own.isEmpty, options["header"] == nil {
                try options.set("header", own.map { "\($0.name): \($0.value)" })
            }
            if options["dir"] == nil, let path = snapshot.path, let slash = path.lastIndex(of: "/") {
                try options.set("dir", slash == path.startIndex ? "/" : String(path[..<slash]))
            }
            // Reads the limit from the request, because other clients of the downloader may have changed or removed it.
            if let limit = request.bytesPerSecond ?? (options["max-download-limit"] == nil ? nil : 0) {
                try options.set("max-download-limit", String(max(0, limit)))
            }
            if options["http-user"] == nil, let (user, password) = Self.credentials(fields) {
                try options.set("http-user", user)
                try options.set("http-passwd", password)
            }
        } catch { throw Aria2Error(error) }
        return options
    }

    /// Whether a field comes from an option of its own instead of `header`.
    private static func isOfOption(_ field: HeaderField, _ options: Aria2Options) -> Bool {
        switch field.name.lowercased() {
        case "user-agent": field.value == options["user-agent"] ?? Aria2Request.userAgent
        case "referer": options["referer"] != nil
        case "authorization": credentials([field]) != nil
        case "cache-control", "pragma": options.flag("http-no-cache")
        default: false
        }
    }

    /// Returns the credentials that the options `http-user` and `http-passwd` added to the request.
    private static func credentials(_ fields: [HeaderField]) -> (user: String, password: String)? {
        guard let field = fields.first(where: { $0.name.lowercased() == "authorization" }),
            field.value.hasPrefix("Basic "), let data = Data(base64Encoded: String(field.value.dropFirst(6))),
            let pair = String(data: data, encoding: .utf8), let colon = pair.firstIndex(of: ":")
        else { return nil }
        return (String(pair[..<colon]), String(pair[pair.index(after: colon)...]))
    }

    func getOption(_ parameters: Aria2Parameters) async throws(Aria2Error) -> Aria2Value {
        let text = try parameters.text(0)
        let options: Aria2Options
        if let (snapshot, _) = try await present(text) {
            options = try await self.options(of: snapshot, forClient: true)
        } else if case .removed(let entry) = try await find(text) {
            options = entry.options
        } else {
            throw Self.notFound(text)
        }
        return Self.shown(options.over(await wholeGlobal()))
    }

    private static func shown(_ options: Aria2Options) -> Aria2Value {
        .structure(options.shown.mapValues { .text($0) })
    }

    func changeOption(_ parameters: Aria2Parameters) async throws(Aria2Error) -> Aria2Value {
        let text = try parameters.text(0)
        let new = try parameters.requiredOptions(1) { $0.scope != .global && $0.change != .never }
        guard let (snapshot, _) = try await present(text), !Aria2State.stoppedStates.contains(snapshot.state) else {
            throw Aria2Error(.unknown, "Cannot change option for GID#\(try await self.gid(named: text))")
        }
        let present = try await options(of: snapshot, forClient: false)
        if let checksum = new["checksum"], checksum != present["checksum"] {
            throw Aria2Error(
                .unknown,
                "The option checksum is fixed when the download is added. Remove it and add it again."
            )
        }
        var options = present
        options.merge(new)
        // Validates all options before any change.
        let uris = record(of: snapshot).uris
        let request = try Aria2Request(
            uris: uris.isEmpty ? [snapshot.url.absoluteString] : uris,
            options: options
        ).downloadRequest(global: global, roots: configuration.roots())
        if new["max-download-limit"] != nil {
            let limit = options.limit("max-download-limit")
            let downloader = downloader
            try await engine { () throws(DownloadError) in
                try await downloader.find(id: snapshot.id)?.setSpeedLimit(limit)
            }
        }
        if new.values.keys.contains(where: Self.setsFields.contains) {
            try await replaceSource(of: snapshot, with: DownloadSource(snapshot.url, headers: request.headers))
        }
        if new["dir"] != nil || new["out"] != nil { try await relocate(snapshot, to: request.destination) }
        changedOptions[snapshot.id, default: Aria2Options()].merge(new)
        return "OK"
    }

    private func relocate(_ snapshot: DownloadSnapshot, to place: DownloadRequest.Destination) async throws(Aria2Error)
    {
        let downloader = downloader
        try await engine { () throws(DownloadError) in
            switch place {
            case .folder(let path): try await downloader.relocate(snapshot.id, toFolder: path)
            case .file(let path):
                let (folder, name) = (FilePaths.folder(of: path), FilePaths.name(of: path))
                try await downloader.relocate(snapshot.id, toFolder: folder, name: name)
            }
        }
    }

    private static let setsFields: Set<String> = [
        "header", "user-agent", "referer", "http-user", "http-passwd", "http-no-cache",
    ]

    private func replaceSource(
        of snapshot: DownloadSnapshot,
        with source: DownloadSource
    ) async throws(Aria2Error) {
        let downloader = downloader
        try await engine { () throws(DownloadError) in
            try await downloader.replaceSource(of: snapshot.id, with: source)
        }
    }

    func changeURI(_ parameters: Aria2Parameters) async throws(Aria2Error) -> Aria2Value {
        let text = try parameters.text(0)
        let index = try parameters.integer(1)
        let old = try parameters.texts(2)
        let new = try parameters.texts(3)
        let position = try parameters.position(4)
        guard index >= 1 else {
            throw Aria2Error(
                .unknown,
                "The integer parameter at 1 has invalid value: the value must be greater than or equal to 1."
            )
        }
        guard let (snapshot, _) = try await present(text), !Aria2State.stoppedStates.contains(snapshot.state) else {
            throw Aria2Error(.unknown, "Cannot remove URIs from GID#\(try await self.gid(named: text))")
        }
        guard index == 1 else { throw Aria2Error(.unknown, "fileIndex is out of range") }
        var uris = record(of: snapshot).shownURIs(of: snapshot)
        let first = uris.first
        var removals = 0
        for uri in old {
            guard let place = uris.firstIndex(of: uri) else { continue }
            uris.remove(at: place)
            removals += 1
        }
        let added = new.filter { uri in
            let start = uri.prefix(8).lowercased()
            return start.hasPrefix("http://") || start.hasPrefix("https://")
        }
        uris.insert(contentsOf: added, at: min(position ?? uris.count, uris.count))
        if let next = uris.first, next != first {
            let downloader = downloader
            try await engine { () throws(DownloadError) in
                let url = try next.downloadURL()
                try await downloader.replaceSource(of: snapshot.id, with: DownloadSource(url))
            }
        }
        if !uris.isEmpty { changedURIs[snapshot.id] = uris }
        return [.integer(Int64(removals)), .integer(Int64(added.count))]
    }

    // MARK: Of the process

    /// Returns the options of the process with the downloader's present limits, which may also be set over Haul's own
    /// API.
    func wholeGlobal() async -> Aria2Options {
        let settings = await downloader.configuration
        var options = global
        let limits = [
            "max-concurrent-downloads": String(max(1, settings.queue.maxConcurrentDownloads)),
            "max-overall-download-limit": String(max(0, settings.network.bytesPerSecond ?? 0)),
        ]
        // These numbers are valid for these options, so `set` does not throw.
        for (name, value) in limits { try? options.set(name, value) }
        return options
    }

    func getGlobalOption() async -> Aria2Value { Self.shown(Aria2Options.complete(await wholeGlobal())) }

    func changeGlobalOption(_ parameters: Aria2Parameters) async throws(Aria2Error) -> Aria2Value {
        let roots = configuration.roots()
        let new = try parameters.requiredOptions(0) { $0.changesGlobally }
        if roots != nil, let name = new.values.keys.sorted().first(where: Self.files.contains) {
            throw Aria2Error(
                .badOption,
                "The option '\(name)' names a file, and folders are confined here: set it where the server is started."
            )
        }
        if let roots, let folder = new["dir"] {
            do throws(Problem) { _ = try roots.folder(folder) } catch {
                throw Aria2Error(.folderFailed, error.detail)
            }
        }
        var options = await wholeGlobal()
        options.merge(new)
        let (all, names) = (options, Set(new.values.keys))
        let downloader = downloader
        if !names.isDisjoint(with: Self.ofDownloader) {
            try await engine { () throws(DownloadError) in
                _ = try await downloader.update { settings in settings.change(names, to: all) }
            }
        }
        global.merge(new)
        return "OK"
    }

    /// Options that name files written beside downloads. If folders are restricted, these files are set where the
    /// process is started, never over the network. Programs and files to read can never be changed over the network.
    private static let files: Set<String> = ["save-session", "log", "save-cookies"]

    private static let ofDownloader: Set<String> = [
        "max-concurrent-downloads", "max-overall-download-limit", "split", "max-connection-per-server",
        "min-split-size", "max-tries", "retry-wait",
    ]
}

extension Downloader.Configuration {
    /// Applies the named options of aria2, and leaves all other settings unchanged. Only `max-concurrent-downloads` may
    /// also raise the number of connections to a host, so that each download can have one.
    fileprivate mutating func change(_ names: Set<String>, to options: Aria2Options) {
        var changed = self
        changed.applyLimits(aria2: options)
        if names.contains("max-concurrent-downloads") {
            queue.maxConcurrentDownloads = changed.queue.maxConcurrentDownloads
            connections.maxPerHost = max(connections.maxPerHost, changed.queue.maxConcurrentDownloads)
        }
        if names.contains("max-overall-download-limit") { network.bytesPerSecond = changed.network.bytesPerSecond }
        if names.contains("split") { connections.maxPerDownload = changed.connections.maxPerDownload }
        if names.contains("max-connection-per-server") { connections.maxPerHost = changed.connections.maxPerHost }
        if names.contains("min-split-size") { connections.smallestPiece = changed.connections.smallestPiece }
        if !names.isDisjoint(with: ["max-tries", "retry-wait"]) { retry = changed.retry }
    }
}
