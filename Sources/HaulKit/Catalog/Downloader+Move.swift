internal import Foundation

/// Moves downloads to other folders: when the user asks for it, or when a request with their key names another
/// destination.
extension Downloader {
    /// Checks whether an unfinished download can be completed at another destination, and makes the folder there.
    ///
    /// The partial file stays in its folder until it is complete. The last step is a rename, so both folders must be on
    /// one disk. A repair cannot be moved.
    func checkMove(_ record: DownloadRecord, to destination: DownloadRequest.Destination) async throws(DownloadError) {
        guard let part = record.partPath else { return }
        let (old, new) = (FilePaths.folder(of: part), destination.folder)
        let volumes = await space.freeSpace(near: [old, new]).mapValues(\.volume)
        guard !record.isRepair, let volume = volumes[new], volume == volumes[old] else {
            throw DownloadError(
                .alreadyAdded,
                "The download \(record.request.key.map { "of the key \"\($0)\" " } ?? "")has begun in \(old), which is on another disk than \(new). Remove it first, or ask for it there."
            )
        }
        let disk = disk
        try await services.onDisk { () throws(DiskError) in try disk.createFolder(new) }
    }

    /// Checks that the file of a download can be renamed into another folder.
    ///
    /// A move is an atomic rename that replaces nothing. A move between two disks would be a copy.
    func checkMove(_ record: DownloadRecord, toFolder folder: String) async throws(DownloadError) {
        if let file = record.partPath ?? (record.status == .completed ? record.finalPath : nil) {
            let old = FilePaths.folder(of: file)
            let volumes = await space.freeSpace(near: [old, folder]).mapValues(\.volume)
            guard let volume = volumes[folder], volume == volumes[old] else {
                throw DownloadError(
                    .invalidDestination,
                    "The file is in \(old), on another disk than \(folder). A download moves within its disk only."
                )
            }
        }
    }
}

extension DownloadRecord {
    /// Whether the file is or will be at a destination.
    func isBound(for destination: DownloadRequest.Destination) -> Bool {
        switch destination {
        case .file(let path): file == path || status == .completed && finalPath == path
        case .folder(let path): request.destination.folder == path
        }
    }

    /// Whether the finished file is where a request wants it. A file with a numbered name satisfies only a request that
    /// allows numbered names.
    func isComplete(for request: DownloadRequest) -> Bool {
        guard isBound(for: request.destination) else { return false }
        guard case .file(let path) = request.destination, request.conflictPolicy != .rename else { return true }
        return finalPath == path
    }

    /// Whether a request accepts the gaps of the finished film. A film whose gaps were allowed satisfies only a request
    /// that allows gaps. Gaps that were not allowed come from a live recording. No request could fill them, so every
    /// request accepts them.
    func hasOnlyGaps(of request: DownloadRequest) -> Bool {
        guard resource?.gaps?.isEmpty == false, self.request.stream?.allowsGaps == true else { return true }
        return request.stream?.allowsGaps == true
    }

    /// Whether a request replaces the finished film, because the server has missing segments of the film again.
    func isReplaced(by request: DownloadRequest) -> Bool {
        guard let replaced = request.replaces, let finished else { return false }
        return finalPath == replaced.path && finished.isUnchanged(since: replaced.file)
    }

    /// Whether the finished file is the film, or the playlist, that a request asks for. A recording of a live stream
    /// with a set length is never the film of another request.
    func hasFilm(of request: DownloadRequest) -> Bool {
        let (own, wanted) = (self.request.stream ?? .init(), request.stream ?? .init())
        guard resource?.stream == .film else {
            // The options for streams matter only if the file is a playlist.
            return own.keepsPlaylist == wanted.keepsPlaylist
                || !StreamPlaylist.isPlaylist(mediaType: resource?.contentType, path: request.url.path)
        }
        return !wanted.keepsPlaylist && own.liveSeconds == nil && wanted.liveSeconds == nil
            && (own.variant ?? "best") == (wanted.variant ?? "best") && own.audio == wanted.audio
            && own.subtitles == wanted.subtitles
            && (own.container == wanted.container || wanted.container == .automatic)
    }

    /// Changes the destination of the file. The partial file keeps its path until the file is complete.
    mutating func move(to destination: DownloadRequest.Destination) {
        request.destination = destination
        switch destination {
        case .file(let path):
            finalPath = partPath == nil ? nil : path
        case .folder(let path):
            finalPath = partPath == nil ? nil : finalPath.map { FilePaths.join(path, FilePaths.name(of: $0)) }
        }
    }
}

extension DownloadRequest.Destination {
    fileprivate var folder: String {
        switch self {
        case .file(let path): FilePaths.folder(of: path)
        case .folder(let path): path
        }
    }
}
