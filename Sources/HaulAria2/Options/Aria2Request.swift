internal import Foundation
package import HaulKit
package import HaulServer

/// A request for a download: the URIs of one file, and options that override the global ones.
package struct Aria2Request: Sendable, Equatable {
    package var uris: [String]
    package var options: Aria2Options

    package init(uris: [String], options: Aria2Options = Aria2Options()) {
        (self.uris, self.options) = (uris, options)
    }

    /// `User-Agent` that is sent if no option sets another.
    package static let userAgent = "haul/" + Downloader.version

    /// Maximum number of URIs of one file that are used.
    private static let mostSources = 64

    /// Returns the request for the engine.
    ///
    /// - Parameters:
    ///   - global: the options of the process.
    ///   - roots: the folders in which files may be saved; `nil` for no restriction.
    /// - Throws: ``Aria2Error`` if no URI is usable, for a path outside `roots`, or for an unsupported checksum
    ///   algorithm.
    package func downloadRequest(global: Aria2Options, roots: AllowedFolders?) throws(Aria2Error) -> DownloadRequest {
        let options = options.over(global)
        let usable = try Self.usable(uris)
        guard let first = usable.first else { throw Aria2Error(.unknown, "No URI to download.") }
        var request = try Self.request(first, to: try Self.destination(options, roots))
        request.mirrorURLs = usable.dropFirst().map(\.url)
        request.headers = Self.headers(options, first)
        request.checksum = try Self.checksum(options["checksum"])
        request.maxConnections = Self.connections(options, usable.map(\.url))
        // Opens all connections at once, as aria2 does.
        request.initialConnections = request.maxConnections
        request.bytesPerSecond = options.limit("max-download-limit")
        request.setsModificationTime = options.flag("remote-time")
        request.startsPaused = options.flag("pause")
        request.onConflict = Self.conflictPolicy(options)
        // Always looks for aria2's control file, but continues a file of another program only with `continue`, as aria2
        // does.
        request.adopts = options.flag("continue") ? .partialFile : .aria2ControlFile
        // Allows insecure redirects and a resume without a validator, because aria2 does. Before such a resume, Haul
        // compares blocks of the file.
        request.allowsInsecureRedirects = true
        request.resumesUnverified = true
        // Saves the playlist itself, because aria2 does not know streams.
        request.stream = .playlist
        return request
    }

    /// A URI as written, and its URL.
    private typealias Usable = (text: String, url: URL)

    /// Returns the supported URIs. aria2 ignores the others, and reports an error only if none is left.
    private static func usable(_ uris: [String]) throws(Aria2Error) -> [Usable] {
        var usable: [Usable] = []
        for uri in uris.prefix(mostSources) where isPossible(uri) {
            do throws(DownloadError) { usable.append((uri, try uri.downloadURL())) } catch { continue }
        }
        guard usable.isEmpty, let first = uris.first else { return usable }
        let text = HostCheck.printable(first)
        throw Aria2Error(.unknown, "Unrecognized URI or unsupported protocol: \(text)")
    }

    /// Makes the request from the text, so that the spelling of the URI is kept.
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

    /// Returns the folder, or the file below it. If folders are restricted, refuses an `out` that leads elsewhere, and
    /// makes the names in `out` safe.
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

    /// Returns `out` for restricted folders. Makes each name in the path safe, because the names come from outside.
    ///
    /// - Returns: `nil` if the server names the file.
    /// - Throws: ``Aria2Error`` if `out` leads out of its folder, or if a name has no visible character.
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

    /// The number of connections: `split`, but at most `max-connection-per-server` for each host.
    private static func connections(_ options: Aria2Options, _ urls: [URL]) -> Int {
        let split = options.limit("split") ?? 5
        let perHost = options.limit("max-connection-per-server") ?? 1
        let hosts = Int64(Set(urls.map { $0.host ?? "" }).count)
        // Cannot overflow: there are at most 16 connections for each of at most 64 hosts.
        return Int(clamping: max(1, min(split, perHost * hosts, 64)))
    }

    private static func join(_ folder: String, _ name: String) -> String {
        folder.hasSuffix("/") ? folder + name : folder + "/" + name
    }

    /// Returns aria2's policy for a file name that is taken. The option that allows more takes precedence.
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
        // Leaves out a field without a colon. aria2 sends such a field unchanged, but no server understands it.
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
