internal import Foundation
internal import HaulKit

/// Adding downloads, one or those of a Metalink.
extension Aria2Session {
    /// Adds a download.
    ///
    /// - Parameter position: its place among those that wait; the end without one.
    /// - Throws: what ``Aria2Request/downloadRequest(global:roots:)`` throws; that a GID is taken; why the store cannot take it.
    @discardableResult
    package func add(_ request: Aria2Request, at position: Int? = nil) async throws(Aria2Error) -> GID {
        let made = try request.downloadRequest(global: global, roots: configuration.roots())
        return try await add(made, request, at: position)
    }

    private func add(
        _ made: DownloadRequest,
        _ request: Aria2Request,
        at position: Int?
    ) async throws(Aria2Error) -> GID {
        var made = made
        let chosen = request.options["gid"].flatMap { GID($0) }
        if let chosen, try await isTaken(chosen) { throw Aria2Error(.unknown, "GID \(chosen) is not unique") }
        // They stay those of this download when the global ones are changed.
        var options = global.filtered { $0.scope == .both && !Self.isOfProcess($0.name) }
        options.merge(request.options.ofDownloads)
        // What clients are told is the name that the file has.
        let out = try configuration.roots() == nil ? nil : Aria2Request.safeOut(options)
        do throws(Aria2OptionError) {
            if options["dir"] == nil, case .folder(let folder) = made.destination { try options.set("dir", folder) }
            if let out { try options.set("out", out) }
        } catch { throw Aria2Error(error) }
        made.metadata = Aria2Record(gid: chosen, uris: request.uris, options: options).metadata
        let download: Download
        if case .file(let path) = made.destination {
            download = try await addNamed(made, path)
        } else {
            // aria2 downloads a URI as often as it is added.
            made.onDuplicate = .addAnyway
            download = try await addNew(made)
        }
        note(download.id, Aria2Record(download.snapshot.metadata).gid)
        if let position { _ = try await place(download.id) { _, _ in position } }
        return gid(of: download.snapshot)
    }

    /// A proxy of the process may have a password, which is not to be kept with every download.
    private static func isOfProcess(_ name: String) -> Bool { name.contains("proxy") }

    private nonisolated func addNew(_ request: DownloadRequest) async throws(Aria2Error) -> Download {
        let downloader = downloader
        return try await engine { () throws(DownloadError) in try await downloader.add(request) }
    }

    // MARK: Named files

    private static let mostNames = 10_000

    /// Adds a download of a named file. The engine has one download of a file, ended ones included; aria2 has as many as are added.
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
                    // As with aria2's control file, the received bytes are taken up again.
                    request.onDuplicate = .join
                    return try await addNew(request)
                case (.complete, .overwrite), (.complete, .skip), (.complete, .fail):
                    // What happens to the file is the policy's; the earlier result makes place for the new one.
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

    /// Takes an ended download off the list; its file stays.
    func forget(_ id: DownloadID) async throws(Aria2Error) {
        let downloader = downloader
        try await engine { () throws(DownloadError) in try await downloader.remove(id) }
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
        // Of one file alone.
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
            let made = try Self.request(file, try request.downloadRequest(global: global, roots: configuration.roots()))
            gids.append(.text(try await add(made, request, at: position.map { $0 + index }).description))
        }
        return .list(gids)
    }

    /// The request of a Metalink's file, with what options say of every download.
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
        request.onConflict = common.onConflict
        return request
    }
}
