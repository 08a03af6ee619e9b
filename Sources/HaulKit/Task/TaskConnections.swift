/// Open connections of a download, with the cookies and the speed limit that they share.
struct TaskConnections {
    let speedLimit: RateLimiter
    private var workers: [DownloadMachine.ConnectionID: SegmentWorker] = [:]
    /// Cookies of the run; `nil` before its first connection.
    private var jar: CookieJar?
    /// Progress of the film; `nil` before the first request whose answer may be a playlist.
    private(set) var film: StreamProgress?

    init(_ speedLimit: RateLimiter) { self.speedLimit = speedLimit }

    var count: Int { workers.count }

    subscript(_ id: DownloadMachine.ConnectionID) -> SegmentWorker? { workers[id] }

    mutating func add(_ worker: SegmentWorker, as id: DownloadMachine.ConnectionID) { workers[id] = worker }

    /// Returns the removed connection; `nil` if it was removed before.
    mutating func remove(_ id: DownloadMachine.ConnectionID) -> SegmentWorker? { workers.removeValue(forKey: id) }

    /// Returns the cookies of the run. The first call fills them with the cookies of `collection`.
    mutating func cookies(from collection: CookieCollection) -> CookieJar {
        let jar = jar ?? CookieJar(collection)
        self.jar = jar
        return jar
    }

    /// Returns empty progress for the film. Call this method for each request whose answer may be a playlist.
    ///
    /// - Parameter isContinued: whether an earlier attempt has begun the film. If the user has ended the recording
    ///   during that attempt, the new progress is marked as finishing too.
    mutating func beginFilm(isContinued: Bool) -> StreamProgress {
        let progress = StreamProgress()
        if isContinued, film?.isFinishing == true { progress.finish() }
        film = progress
        return progress
    }

    /// Closes all connections without a report to the machine.
    func close() {
        for worker in workers.values { worker.close() }
    }
}
