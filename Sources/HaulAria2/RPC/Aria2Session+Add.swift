internal import Foundation
internal import HaulKit
internal import HaulServer

/// Adds one download, or the downloads of a Metalink.
extension Aria2Session {
    /// Adds a download.
    ///
    /// - Parameter position: position among the waiting downloads; `nil` for the end.
    /// - Throws: ``Aria2Error`` as ``Aria2Request/downloadRequest(global:roots:)``, for a GID that is taken, or if the
    ///   store cannot record the download.
    @discardableResult
    package func add(_ request: Aria2Request, at position: Int? = nil) async throws(Aria2Error) -> GID {
        let (request, place) = try placed(request)
        var made = try request.downloadRequest(global: global, roots: configuration.roots())
        place?.apply(to: &made, request.options)
        return try await add(made, request, at: position)
    }

    /// Returns the request, and the placement that the rules of the server choose; `nil` for no choice. The request
    /// gets the folder of the placement, unless the client named a folder for the download or for all downloads.
    ///
    /// - Parameter name: the name that a Metalink gives the file.
    private func placed(
        _ request: Aria2Request,
        named name: String? = nil
    ) throws(Aria2Error) -> (Aria2Request, PlacementRules.Placement?) {
        let isNamed = request.options["dir"] != nil || global["dir"] != configuration.folder
        // ``Aria2Request/downloadRequest(global:roots:)`` refuses a URI that cannot be read.
        guard let uri = request.uris.first, let url = try? uri.downloadURL() else { return (request, nil) }
        do throws(Problem) {
            guard let place = try configuration.placement(url, name ?? request.options["out"]) else {
                return (request, nil)
            }
            var request = request
            if !isNamed {
                do throws(Aria2OptionError) { try request.options.set("dir", place.folder) } catch {
                    return (request, place)
                }
            }
            return (request, place)
        } catch {
            // A client that names a folder does not depend on the rules.
            if isNamed { return (request, nil) }
            throw Aria2Error(.folderFailed, error.detail)
        }
    }

    private func add(
        _ made: DownloadRequest,
        _ request: Aria2Request,
        at position: Int?
    ) async throws(Aria2Error) -> GID {
        var made = made
        let chosen = request.options["gid"].flatMap { GID($0) }
        if let chosen, try await isTaken(chosen) { throw Aria2Error(.unknown, "GID \(chosen) is not unique") }
        // Copies the global options, so that later changes of them do not affect this download.
        var options = global.filtered { $0.scope == .both && !Self.isOfProcess($0.name) }
        options.merge(request.options.ofDownloads)
        // Stores the real names of the folder and the file, because clients read these options.
        let out = try configuration.roots() == nil ? nil : Aria2Request.safeOut(options)
        do throws(Aria2OptionError) {
            if options["dir"] == nil, case .folder(let folder) = made.destination { try options.set("dir", folder) }
            if let out { try options.set("out", out) }
        } catch { throw Aria2Error(error) }
        made.metadata = Aria2Record(gid: chosen, uris: request.uris, options: options, of: made).metadata
        let download: Download
        if case .file(let path) = made.destination {
            download = try await addNamed(made, path)
        } else {
            // Adds the URI even if a download has it, because aria2 downloads a URI as often as it is added.
            made.onDuplicate = .addAnyway
            download = try await addNew(made)
        }
        note(download.id, Aria2Record(download.snapshot.metadata).gid)
        if let position { _ = try await place(download.id) { _, _ in position } }
        return gid(of: download.snapshot)
    }

    /// Whether an option belongs to the process. A proxy may have a password, which must not be stored with each
    /// download.
    private static func isOfProcess(_ name: String) -> Bool { name.contains("proxy") }

    private nonisolated func addNew(_ request: DownloadRequest) async throws(Aria2Error) -> Download {
        let downloader = downloader
        return try await engine { () throws(DownloadError) in try await downloader.add(request) }
    }

    // MARK: Named files

    private static let mostNames = 10_000

    /// Adds a download of a named file. The engine has at most one download for each path, even after the download has
    /// ended; aria2 has one for each addition.
    private func addNamed(_ request: DownloadRequest, _ path: String) async throws(Aria2Error) -> Download {
        var request = request
        request.onDuplicate = .refuse
        var (number, name) = (0, path)
        while true {
            request.destination = .file(path: name)
            do throws(DownloadError) { return try await downloader.add(request) } catch {
                guard error.code == .alreadyAdded || error.code == .inUse else { throw Aria2Error(error) }
                guard let holder = try await holder(of: name) else { throw Aria2Error(error) }
                let policy = request.onConflict ?? .fail
                switch (Aria2State(holder), policy) {
                case (.error, _):
                    // Resumes with the received bytes, as aria2 does with its control file.
                    request.onDuplicate = .join
                    return try await addNew(request)
                case (.complete, .overwrite), (.complete, .skip), (.complete, .fail):
                    // Removes the earlier result, because the new download replaces it. The conflict policy decides
                    // about the file.
                    try await forget(holder.id)
                case (_, .rename):
                    number += 1
                    name = Self.numbered(path, number)
                    guard number < Self.mostNames else { throw Aria2Error(error) }
                default: throw Aria2Error(.sameFile, error.message)
                }
            }
        }
    }

    private func holder(of path: String) async throws(Aria2Error) -> DownloadSnapshot? {
        let downloader = downloader
        return try await engine { () throws(DownloadError) in
            try await downloader.list(DownloadFilter(text: path)).first { $0.path == path }
        }
    }

    private static func numbered(_ path: String, _ number: Int) -> String {
        let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        let name = path[start...]
        guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return "\(path) (\(number))" }
        return "\(path[..<dot]) (\(number))\(path[dot...])"
    }

    // MARK: Methods

    func addURI(_ parameters: Aria2Parameters) async throws(Aria2Error) -> Aria2Value {
        let uris = try parameters.texts(0)
        let options = try parameters.options(1) { $0.scope != .global }
        let position = try parameters.position(2)
        guard !uris.isEmpty else { throw Aria2Error(.unknown, "URI is not provided.") }
        return .text(try await add(Aria2Request(uris: uris, options: options), at: position).description)
    }

    func addMetalink(_ parameters: Aria2Parameters) async throws(Aria2Error) -> Aria2Value {
        let text = try parameters.text(0)
        var options = try parameters.options(1) { $0.scope != .global }
        let position = try parameters.position(2)
        // Drops the options of a single file, because a Metalink may have several files.
        for name in ["out", "gid", "checksum"] { options.remove(name) }
        let base64 = text.filter { !$0.isWhitespace }
        guard let data = Data(base64Encoded: base64) else {
            throw Aria2Error(.metalink, "Could not parse Metalink XML document.")
        }
        let metalink: Metalink
        do throws(DownloadError) { metalink = try Metalink(data) } catch {
            throw Aria2Error(.metalink, "Could not parse Metalink XML document. \(error.message)")
        }
        var gids: [Aria2Value] = []
        for (index, file) in metalink.files.enumerated() {
            let request = Aria2Request(uris: file.sources.map(\.url.absoluteString), options: options)
            let (placed, chosen) = try placed(request, named: file.name)
            var made = try Self.request(file, try placed.downloadRequest(global: global, roots: configuration.roots()))
            chosen?.apply(to: &made, options)
            // Clamps the sum, because the client may send any position.
            let place = position.map { $0.addingClamped(index) }
            gids.append(.text(try await add(made, placed, at: place).description))
        }
        return .list(gids)
    }

    /// Returns the request of a Metalink's file, with the options that apply to all files.
    private static func request(
        _ file: Metalink.File,
        _ common: DownloadRequest
    ) throws(Aria2Error) -> DownloadRequest {
        guard case .folder(let folder) = common.destination else {
            throw Aria2Error(.badOption, "A Metalink names its files.")
        }
        var request = DownloadRequest(file, into: folder)
        (request.headers, request.bytesPerSecond) = (common.headers, common.bytesPerSecond)
        (request.setsModificationTime, request.startsPaused) = (common.setsModificationTime, common.startsPaused)
        (request.onConflict, request.stream) = (common.onConflict, common.stream)
        return request
    }
}

extension PlacementRules.Placement {
    /// Sets the group, which aria2 does not have, and the number of connections if the client set none.
    fileprivate func apply(to request: inout DownloadRequest, _ options: Aria2Options) {
        request.group = group
        guard let connections, options["split"] == nil, options["max-connection-per-server"] == nil else { return }
        (request.maxConnections, request.initialConnections) = (connections, connections)
    }
}
