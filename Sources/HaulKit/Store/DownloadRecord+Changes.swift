internal import Foundation

/// What becomes of a record while no task has it.
extension DownloadRecord {
    /// The partial file is no more, or no longer ours; a name that was only derived may be another one next time.
    mutating func forgetPart() {
        partPath = nil
        part = nil
        if file == nil { finalPath = nil }
    }

    /// The file was found under its final name.
    mutating func complete(with file: FileStatus, at date: Date) {
        status = .completed
        partPath = nil
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

    /// Records a digest that a finished file was just found to have, so that it need not be read again.
    ///
    /// - Returns: false when nothing has changed.
    mutating func prove(by checksum: Checksum?) -> Bool {
        guard let checksum, checksum != wishes.checksum || proof != .digest else { return false }
        wishes.checksum = checksum
        proof = .digest
        return true
    }

    /// Takes a file that is to be repaired for the partial file.
    mutating func repair(_ file: FileStatus, _ path: String) {
        part = file
        partPath = FilePaths.part(of: path)
        finalPath = path
        resource = Resource(total: wishes.size)
    }

    /// Lets a new request for a download that is there change what it says: a request that says nothing of headers or
    /// checksum does not take back what was said before.
    ///
    /// - Returns: whether the bytes now come from another URL.
    mutating func merge(_ request: DownloadRequest) -> Bool {
        // Who names only the key has nothing to say of the URL.
        let isReplaced = url != request.url.absoluteString && !request.needsSource
        var new = Wishes(request)
        if request.needsSource {
            (new.target, new.isChosenByDocument) = (wishes.target, wishes.isChosenByDocument)
        }
        if new.headers.isEmpty, !isReplaced { new.headers = wishes.headers }
        new.checksum = new.checksum ?? wishes.checksum
        // A plainer request does not take a check back.
        new.pieces = new.pieces ?? wishes.pieces
        new.size = new.size ?? wishes.size
        new.mirrors = new.mirrors ?? (isReplaced ? nil : wishes.mirrors)
        new.isRepair = wishes.isRepair
        if isReplaced {
            linkExpiresAt = LinkExpiry.date(in: request.url)
        } else {
            new.link = wishes.link
            new.linkHeaders = wishes.linkHeaders
        }
        wishes = new
        if isReplaced {
            host = request.url.host?.lowercased()
            // What is known of the file is known from the other one.
            if resource?.mirror == nil { resource?.mirror = URL(string: url) }
            url = request.url.absoluteString
        }
        groupName = request.group ?? groupName
        belongsTo = request.owner ?? belongsTo
        metadata = request.metadata?.json ?? metadata
        return isReplaced
    }
}
