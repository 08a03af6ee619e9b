internal import Foundation

extension DownloadRecord {
    /// The damaged file that a repair replaces; `nil` if the download is not a repair.
    var damagedFile: FileStatus? { isRepair ? request.repairs : nil }

    /// Forgets a partial file that is gone or no longer belongs to the download. Forgets the final name too unless the
    /// request names the file, because the next answer may lead to another name. Clears `isRepair`, because a new
    /// partial file holds no bytes of the user's own.
    mutating func forgetPart() {
        partPath = nil
        part = nil
        isRepair = false
        if file == nil { finalPath = nil }
    }

    /// Takes over the partial file that another process has recorded, with its final name and resource.
    mutating func takePart(of other: DownloadRecord) {
        partPath = other.partPath
        part = other.part
        finalPath = other.finalPath
        resource = other.resource
        isRepair = other.isRepair
    }

    /// Returns this record with the partial file, the resource and the length of `latest`, a newer row that another
    /// process has written. Returns `nil` if `latest` is completed or being published.
    func updated(with latest: DownloadRecord) -> DownloadRecord? {
        if latest.status == .completed || latest.status == .publishing { return nil }
        var known = latest.resource
        // Ignores a difference in `mirror`: ``merge(_:)`` sets it for a request with another URL, before any bytes have
        // come from there.
        if known != nil { known?.mirror = resource?.mirror }
        guard latest.partPath != partPath || latest.part != part || known != resource else { return self }
        var record = self
        record.takePart(of: latest)
        record.total = latest.total
        return record
    }

    /// Sets the path of the finished file. An unfinished download uses this path when it completes. Moves no bytes.
    mutating func rename(to path: String) {
        // Keeps `root`, the folder that the file must not leave, only if the new path is below it. Any other folder is
        // the choice of the user.
        let root = self.root(of: path)
        request.destination = .file(path: path)
        request.root = root
        if finalPath != nil { finalPath = path }
    }

    /// Sets the folder of the finished file. An unfinished download uses this folder when it completes. Moves no bytes.
    /// If the first answer has yet to name the file, the file gets its name in the new folder.
    mutating func move(toFolder folder: String) {
        func moved(_ path: String) -> String { FilePaths.join(folder, FilePaths.name(of: path)) }
        switch request.destination {
        case .file(let path): request.destination = .file(path: moved(path))
        case .folder: request.destination = .folder(path: folder)
        }
        // Keeps a name that is chosen already, even without a partial file: a small file may not be on the disk yet.
        finalPath = finalPath.map(moved)
    }

    /// Records that a rename of the finished file begins. Until ``endRename(isDone:)`` the file may have either name:
    /// `partPath` holds the old one, `finalPath` the new one.
    mutating func beginRename(to path: String, by owner: Int64) {
        partPath = finalPath
        finalPath = path
        ownerNumber = owner
    }

    /// Whether a rename has begun and not ended: the finished file may have either of two names.
    var isBeingRenamed: Bool { status == .completed && partPath.map { !FilePaths.isPart($0) } ?? false }

    /// Ends a rename. Keeps the new name if `isDone`, else the old one.
    mutating func endRename(isDone: Bool) {
        if isDone, let finalPath { rename(to: finalPath) } else { finalPath = partPath }
        partPath = nil
        ownerNumber = nil
    }

    /// Marks the download as completed by `file`, which was found under the final name.
    mutating func complete(with file: FileStatus, at date: Date) {
        status = .completed
        partPath = nil
        ownerNumber = nil
        isRepair = false
        request.repairs = nil
        request.replaces = nil
        finished = file
        finishedAt = date
    }

    /// Ends a publication that a crash interrupted. Marks the download as failed if there is a `failure`; otherwise
    /// queues it, so that it publishes its file again.
    mutating func endPublication(_ failure: DownloadError?) {
        if let failure {
            status = .failed
            error = failure
        }
        if status == .publishing { status = .queued }
    }

    /// Drops checksum, piece digests and size, because another version of the file is requested.
    mutating func dropDescription() {
        (request.checksum, request.pieces, request.size) = (nil, nil, nil)
    }

    /// Prepares the download to fetch its file again, because the file is gone or was replaced.
    mutating func startOver() {
        forgetPart()
        finished = nil
        finishedAt = nil
        resource = nil
        proof = nil
    }

    /// Queues the download for a slot again.
    mutating func requeue() {
        status = .queued
        error = nil
        hold = nil
        finishedAt = nil
    }

    /// Marks the download as failed, because another process runs it.
    mutating func fail(_ reason: DownloadError) {
        status = .failed
        error = reason
    }

    /// Records that the finished file was found to match its digest.
    mutating func prove() { proof = .digest }

    /// Records digests that the finished file was found to match, so that the file need not be read again.
    ///
    /// - Returns: `false` if nothing has changed.
    mutating func prove(by new: DownloadRequest) -> Bool {
        if let checksum = new.checksum {
            guard checksum != request.checksum || proof != .digest else { return false }
            request.checksum = checksum
            proof = .digest
            return true
        }
        guard let pieces = new.pieces, pieces != request.pieces else { return false }
        (request.pieces, request.size) = (pieces, finished?.size)
        return true
    }

    /// Uses a copy of the correct parts of a damaged file as the partial file.
    ///
    /// - Parameters:
    ///   - damaged: the file at `path`, which stays there until the repaired one replaces it.
    ///   - copy: the partial file.
    mutating func repair(_ damaged: FileStatus, at path: String, with copy: FileStatus) {
        request.repairs = damaged
        repair(copy, path)
    }

    /// Makes `file` the partial file of a repair of the finished file at `path`.
    mutating func repair(_ file: FileStatus, _ path: String) {
        part = file
        // A size of 0 means that the file is not complete, see `claimedFile`.
        part?.size = 0
        partPath = FilePaths.part(of: path)
        finalPath = path
        resource = Resource(total: request.size)
        isRepair = true
    }

    /// Merges a new request for an existing download. Keeps earlier headers, mirrors, checksum and other values that
    /// the new request does not give; headers and mirrors only while the URL stays the same.
    ///
    /// - Returns: whether the bytes now come from another URL.
    mutating func merge(_ new: DownloadRequest) -> Bool {
        let old = request
        // A request with only a key names no URL.
        let isReplaced = !old.asksTheSame(as: new) && !new.needsSource
        request = new
        request.earlierSpelling = nil
        if new.needsSource {
            request.takeURL(of: old)
            request.method = old.method
        }
        // Keeps destination, key and priority, because adding a request again does not change them.
        // A request without a root does not let the file of a set leave the folder of the set.
        (request.destination, request.root) = (old.destination, new.root ?? old.root)
        (request.key, request.priority) = (old.key, old.priority)
        if new.headers.isEmpty, !isReplaced { request.headers = old.headers }
        if new.mirrors.isEmpty, !isReplaced { request.mirrors = old.mirrors }
        // A request without a check does not take back an earlier check, unless the whole file has failed it.
        let isRefuted = status == .failed && error?.code == .checksumMismatch && !new.needsSource
        request.checksum = new.checksum ?? (isRefuted ? nil : old.checksum)
        request.pieces = new.pieces ?? (isRefuted ? nil : old.pieces)
        request.size = new.size ?? old.size
        // Keeps the earlier `adopts` if the new request has none, because the adopted file may be the partial file
        // already.
        request.adopts = new.adopts ?? old.adopts
        request.repairs = old.repairs
        request.replaces = new.replaces ?? old.replaces
        request.group = new.group ?? old.group
        request.owner = old.owner
        request.metadata = new.metadata ?? old.metadata
        request.page = new.page ?? old.page
        guard isReplaced else { return false }
        link = nil
        linkExpiresAt = LinkExpiry.date(in: new.url)
        host = new.url.host?.lowercased()
        // The facts in `resource` came from the old URL, which counts as a mirror from now on.
        if resource?.mirror == nil { resource?.mirror = old.url }
        return true
    }
}

extension DownloadRecord {
    /// Whether this is an unfinished film although a request wants the playlist itself.
    func isFilm(besides new: DownloadRequest) -> Bool {
        resource?.stream != nil && status != .completed && new.stream?.keepsPlaylist == true
    }

    /// Whether the file has, or may get, the name that a request suggests.
    func hasName(of new: DownloadRequest) -> Bool {
        guard let name = new.suggestedName, !new.isNameNumbered, name != request.suggestedName else { return true }
        guard let finalPath else { return request.suggestedName == nil }
        return FilePaths.name(of: finalPath) == name
    }

    /// File status of the complete, synced partial file that is about to get its final name; `nil` while the file is
    /// incomplete. The size in `part` is 0 until the file is complete. An empty file counts as complete only if
    /// ``status`` is `publishing`.
    var claimedFile: FileStatus? {
        guard let part, part.size > 0 || status == .publishing,
            part.size == resource?.total ?? request.size ?? part.size
        else { return nil }
        return part
    }
}
