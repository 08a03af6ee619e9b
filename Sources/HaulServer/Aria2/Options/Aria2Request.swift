internal import Foundation
package import HaulKit

/// What a download is asked for: URIs of one file, and options over the global ones.
package struct Aria2Request: Sendable, Equatable {
    package var uris: [String]
    package var options: Aria2Options

    package init(uris: [String], options: Aria2Options = Aria2Options()) {
        (self.uris, self.options) = (uris, options)
    }

    /// Sent where no option names another.
    package static let userAgent = "haul/" + Downloader.version

    /// Most URIs of one file that are tried.
    private static let mostSources = 64

    /// The request for the engine.
    ///
    /// - Parameters:
    ///   - global: the process's options.
    ///   - roots: the folders that files may be saved in; nil for no confinement.
    /// - Throws: no usable URI, a path outside `roots`, a checksum of an algorithm that Haul does not have.
    package func downloadRequest(global: Aria2Options, roots: AllowedFolders?) throws(Aria2Error) -> DownloadRequest {
        let options = options.over(global)
        let usable = try Self.usable(uris)
        guard let first = usable.first else { throw Aria2Error(.unknown, "No URI to download.") }
        var request = try Self.request(first, to: try Self.destination(options, roots))
        request.mirrors = usable.dropFirst().enumerated().map { Metalink.Source($1.url, priority: $0 + 1) }
        request.headers = Self.headers(options, first)
        request.checksum = try Self.checksum(options["checksum"])
        request.maxConnections = Self.connections(options, usable.map(\.url))
        // aria2 opens them all at once.
        request.initialConnections = request.maxConnections
        request.bytesPerSecond = options.limit("max-download-limit")
        request.setsModificationTime = options.flag("remote-time")
        request.startsPaused = options.flag("pause")
        request.onConflict = Self.conflictPolicy(options)
        // aria2 looks for its control file unasked, and for another program's file where it is told to.
        request.adopts = options.flag("continue") ? .partialFile : .aria2ControlFile
        // aria2 follows them, and resumes by length alone; Haul compares blocks of the file first.
        request.allowsInsecureRedirects = true
        request.resumesUnverified = true
        return request
    }

    /// A URI, and what it means.
    private typealias Usable = (text: String, url: URL)

    /// URIs that can be downloaded from. aria2 leaves out what it does not know, and complains when nothing is left.
    private static func usable(_ uris: [String]) throws(Aria2Error) -> [Usable] {
        var usable: [Usable] = []
        for uri in uris.prefix(mostSources) where isPossible(uri) {
            do throws(DownloadError) { usable.append((uri, try uri.downloadURL())) } catch { continue }
        }
        guard usable.isEmpty, let first = uris.first else { return usable }
        let text = HostCheck.printable(first)
        throw Aria2Error(.unknown, "Unrecognized URI or unsupported protocol: \(text)")
    }

    /// From the text, which keeps how the URI is spelled.
    private static func request(
        _ uri: Usable,
        to destination: DownloadRequest.Destination
    ) throws(Aria2Error) -> DownloadRequest {
        do throws(DownloadError) { return try DownloadRequest(uri.text, to: destination) } catch {
            throw Aria2Error(error)
        }
    }

    private static func isPossible(_ uri: String) -> Bool {
        let start = uri.prefix(8).lowercased()
        return start.hasPrefix("http://") || start.hasPrefix("https://")
    }

    /// The folder, or the file below it. Where folders are confined, `out` that leads elsewhere is refused, and its names are made
    /// safe.
    private static func destination(
        _ options: Aria2Options,
        _ roots: AllowedFolders?
    ) throws(Aria2Error) -> DownloadRequest.Destination {
        let folder = try folder(options["dir"], roots)
        guard let roots else {
            guard let out = options["out"], !out.isEmpty else { return .folder(path: folder) }
            return .file(path: Self.join(folder, out))
        }
        guard let parts = try safeOut(options)?.split(separator: "/") else { return .folder(path: folder) }
        let below = parts.dropLast().joined(separator: "/")
        let inside = try confined(below.isEmpty ? folder : Self.join(folder, below), roots)
        return .file(path: Self.join(inside, String(parts.last ?? "")))
    }

    /// `out` as files are named in confined folders: each name in it is made safe as every name from outside.
    ///
    /// - Returns: nil where the server names the file.
    /// - Throws: it leads out of its folder, or a name has no character that can be seen.
    static func safeOut(_ options: Aria2Options) throws(Aria2Error) -> String? {
        guard let out = options["out"], !out.isEmpty else { return nil }
        let parts = out.split(separator: "/").filter { $0 != "." }
        guard !parts.isEmpty, !out.hasPrefix("/"), !out.hasSuffix("/"), !parts.contains("..") else {
            throw Aria2Error(.createFailed, "The path in 'out' leads out of its folder.")
        }
        let safe = parts.compactMap { FileName.safeTitle(String($0)) }
        guard safe.count == parts.count else {
            throw Aria2Error(.createFailed, "The path in 'out' has a name that no file can have.")
        }
        return safe.joined(separator: "/")
    }

    private static func folder(_ dir: String?, _ roots: AllowedFolders?) throws(Aria2Error) -> String {
        if let roots { return try confined(dir, roots) }
        guard let dir, !dir.isEmpty else { return "." }
        return dir
    }

    private static func confined(_ path: String?, _ roots: AllowedFolders) throws(Aria2Error) -> String {
        do throws(Problem) { return try roots.folder(path) } catch {
            throw Aria2Error(.folderFailed, error.detail)
        }
    }

    /// `split`, and of each host no more than `max-connection-per-server`.
    private static func connections(_ options: Aria2Options, _ urls: [URL]) -> Int {
        let split = options.limit("split") ?? 5
        let perHost = options.limit("max-connection-per-server") ?? 1
        let hosts = Int64(Set(urls.map { $0.host ?? "" }).count)
        // At most 16 for each of at most 64 hosts.
        return Int(clamping: max(1, min(split, perHost * hosts, 64)))
    }

    private static func join(_ folder: String, _ name: String) -> String {
        folder.hasSuffix("/") ? folder + name : folder + "/" + name
    }

    /// What aria2 does with a taken name, from the most to the least that it allows.
    private static func conflictPolicy(_ options: Aria2Options) -> DownloadRequest.ConflictPolicy {
        if options.flag("allow-overwrite") { return .overwrite }
        return options.flag("auto-file-renaming") ? .rename : .fail
    }

    private static func checksum(_ text: String?) throws(Aria2Error) -> DownloadRequest.Checksum? {
        guard let text, let equals = text.firstIndex(of: "=") else { return nil }
        do throws(DownloadError) {
            return try DownloadRequest.Checksum("\(text[..<equals]):\(text[text.index(after: equals)...])")
        } catch { throw Aria2Error(.badOption, error.message) }
    }
}

// MARK: - Header fields

extension Aria2Request {
    private static func headers(_ options: Aria2Options, _ uri: Usable) -> [HeaderField] {
        // aria2 sends a field without a colon as it is; no server understands that.
        var fields = options.list("header").compactMap { HeaderField($0) }
        let given = Set(fields.map { $0.name.lowercased() })
        func add(_ name: String, _ value: String?) {
            guard let value, !value.isEmpty, !given.contains(name.lowercased()), let field = HeaderField(name, value)
            else {
                return
            }
            fields.append(field)
        }
        add("User-Agent", options["user-agent"])
        add("Referer", options["referer"] == "*" ? uri.text : options["referer"])
        if options.flag("http-no-cache") {
            add("Cache-Control", "no-cache")
            add("Pragma", "no-cache")
        }
        if uri.url.user == nil, let user = options["http-user"], !user.isEmpty {
            let pair = Data("\(user):\(options["http-passwd"] ?? "")".utf8)
            add("Authorization", "Basic " + pair.base64EncodedString())
        }
        return fields
    }
}
