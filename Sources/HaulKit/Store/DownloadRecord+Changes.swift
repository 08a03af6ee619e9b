internal import Foundation

/// What becomes of a record while no task has it.
extension DownloadRecord {
    /// The damaged file that a repair is to replace; `nil` where this is none.
    var damagedFile: FileStatus? { isRepair ? request.repairs : nil }

    /// The partial file is gone, or no longer ours; a name that was only derived may be another one next time. A new one will
    /// never have been the user's.
    mutating func forgetPart() {
        partPath = nil
        part = nil
        isRepair = false
        if file == nil { finalPath = nil }
    }

    /// Takes over which partial file another process left.
    mutating func takePart(of other: DownloadRecord) {
        partPath = other.partPath
        part = other.part
        finalPath = other.finalPath
        resource = other.resource
        isRepair = other.isRepair
    }

    /// Returns the record with what another process that ran the download since has recorded; nil if that process has completed it.
    func updated(with latest: DownloadRecord) -> DownloadRecord? {
        if latest.status == .completed || latest.status == .publishing { return nil }
        var known = latest.resource
        // A request for another URL changes this one without running.
        if known != nil { known?.mirror = resource?.mirror }
        guard latest.partPath != partPath || latest.part != part || known != resource else { return self }
        var record = self
        record.takePart(of: latest)
        record.total = latest.total
        return record
    }

    /// The file of an unfinished download gets this name when it is complete. Its bytes stay where they are.
    mutating func rename(to path: String) {
        // The folder stays the same, and so does the one that the file must not leave.
        let root = request.root
        request.destination = .file(path: path)
        request.root = root
        if finalPath != nil { finalPath = path }
    }

    /// The finished file is about to get another name: as long as it may have either, the old one stands in place of the partial
    /// file's.
    mutating func beginRename(to path: String, by owner: Int64) {
        partPath = finalPath
        finalPath = path
        ownerNumber = owner
    }

    /// Whether the finished file may have either of two names.
    var isBeingRenamed: Bool { status == .completed && partPath.map { !FilePaths.isPart($0) } ?? false }

    /// The finished file has one name.
    mutating func endRename(isDone: Bool) {
        if isDone, let finalPath { rename(to: finalPath) } else { finalPath = partPath }
        partPath = nil
        ownerNumber = nil
    }

    /// The file was found under its final name.
    mutating func complete(with file: FileStatus, at date: Date) {
        status = .completed
        partPath = nil
        ownerNumber = nil
        isRepair = false
        request.repairs = nil
        finished = file
        finishedAt = date
    }

    /// The publication that a crash interrupted has failed, or its file is to be published once more.
    mutating func endPublication(_ failure: DownloadError?) {
        if let failure {
            status = .failed
            error = failure
        }
        if status == .publishing { status = .queued }
    }

    /// Another version of the file is asked for.
    mutating func dropDescription() {
        (request.checksum, request.pieces, request.size) = (nil, nil, nil)
    }

    /// The file is gone or has become another one: it is fetched again.
    mutating func startOver() {
        forgetPart()
        finished = nil
        finishedAt = nil
        resource = nil
        proof = nil
    }

    /// Waits for a slot again.
    mutating func requeue() {
        status = .queued
        error = nil
        hold = nil
    }

    /// Another process runs the download.
    mutating func fail(_ reason: DownloadError) {
        status = .failed
        error = reason
    }

    /// The file was just found to have its digest.
    mutating func prove() { proof = .digest }

    /// Records digests that a finished file was just found to have, so that it need not be read again.
    ///
    /// - Returns: false when nothing has changed.
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

    /// Takes a copy of what is right in a damaged file for the partial file.
    ///
    /// - Parameters:
    ///   - damaged: the file at `path`, which stays there until the repaired one replaces it.
    ///   - copy: the partial file.
    mutating func repair(_ damaged: FileStatus, at path: String, with copy: FileStatus) {
        request.repairs = damaged
        repair(copy, path)
    }

    /// Takes a file for the partial file of the one at `path`.
    mutating func repair(_ file: FileStatus, _ path: String) {
        part = file
        // It is not complete: see `claimedFile`.
        part?.size = 0
        partPath = FilePaths.part(of: path)
        finalPath = path
        resource = Resource(total: request.size)
        isRepair = true
    }

    /// Lets a new request for a download that is there change what it says: a request that says nothing of headers or
    /// checksum does not take back what was said before.
    ///
    /// - Returns: whether the bytes now come from another URL.
    mutating func merge(_ new: DownloadRequest) -> Bool {
        let old = request
        // A request that names only the key says nothing of the URL.
        let isReplaced = !old.asksTheSame(as: new) && !new.needsSource
        request = new
        request.earlierSpelling = nil
        if new.needsSource {
            request.takeURL(of: old)
            request.method = old.method
        }
        // Which `move(to:)` and calls of the user change.
        (request.destination, request.root) = (old.destination, new.root)
        (request.key, request.priority) = (old.key, old.priority)
        if new.headers.isEmpty, !isReplaced { request.headers = old.headers }
        if new.mirrors.isEmpty, !isReplaced { request.mirrors = old.mirrors }
        // A plainer request does not take a check back.
        request.checksum = new.checksum ?? old.checksum
        request.pieces = new.pieces ?? old.pieces
        request.size = new.size ?? old.size
        // Its bytes may be here already.
        request.adopts = new.adopts ?? old.adopts
        request.repairs = old.repairs
        request.group = new.group ?? old.group
        request.owner = new.owner ?? old.owner
        request.metadata = new.metadata ?? old.metadata
        guard isReplaced else { return false }
        link = nil
        linkExpiresAt = LinkExpiry.date(in: new.url)
        host = new.url.host?.lowercased()
        // What is known of the file is known from the other one.
        if resource?.mirror == nil { resource?.mirror = old.url }
        return true
    }
}
