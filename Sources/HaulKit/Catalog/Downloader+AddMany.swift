internal import Foundation

/// Adds lists of downloads. The store is read and written once for hundreds of downloads, not once for each.
extension Downloader {
    /// Adds many downloads at once, each as ``add(_:)-(DownloadRequest)`` does. Downloads start while the rest of the
    /// list is still being added.
    ///
    /// The same URL twice into the same folder is one download, returned twice. Different URLs that lead to the same
    /// name in one folder get numbered names before the first request is sent (`BatchFileNames`). If two requests of
    /// the list name the same file with different URLs, the second is refused with ``DownloadError/Code/inUse``.
    ///
    /// - Returns: a handle or an error for each request, in order. After ``shutDown()`` the error is
    ///   ``DownloadError/Code/shutDown``.
    public func add(_ requests: [DownloadRequest]) async -> [Result<Download, DownloadError>] {
        let names = BatchFileNames(requests)
        var results: [Result<Download, DownloadError>] = []
        results.reserveCapacity(requests.count)
        var paths = AbsolutePaths()
        var start = 0
        let groups = Set(requests.compactMap(\.group))
        idle.additionBegan(groups)
        defer { idle.additionEnded(groups) }
        while start < requests.count {
            // Adds a few first, so that connections open early.
            let end = min(requests.count, start + (start == 0 ? 64 : Self.addedTogether))
            let part = (start..<end).map { position in
                Result { () throws(DownloadError) in
                    if let refusal = names.refused[position] { throw refusal }
                    try checkSource(names.requests[position])
                    return try paths.checked(names.requests[position])
                }
            }
            await results.append(contentsOf: addTogether(await renewed(part)))
            start = end
            // Lets other calls to this actor run.
            await Task.yield()
        }
        return results
    }

    /// Largest number of downloads that are added in one transaction.
    private static let addedTogether = 2048

    private func addTogether(_ requests: [Result<DownloadRequest, DownloadError>]) async
        -> [Result<Download, DownloadError>]
    {
        do throws(DownloadError) {
            return try await withCatalogLock { downloader throws(DownloadError) in
                try await downloader.addPart(requests)
            }
        } catch {
            return requests.map { $0.flatMap { _ in .failure(error) } }
        }
    }

    private func addPart(_ requests: [Result<DownloadRequest, DownloadError>]) async throws(DownloadError)
        -> [Result<Download, DownloadError>]
    {
        try checkIsOpen()
        try store.checkTakesMore()
        // Leaves out the refused requests. `results` below has their errors.
        let readable = requests.compactMap { try? $0.get() }
        let saved = try await store.find(readable)
        try checkIsOpen()
        var next = saved.makeIterator()
        var new: [DownloadRecord] = []
        var known: [(position: Int, saved: DownloadStore.Saved?)] = []
        var seen: Set<Identity> = []
        var results =
            requests.map { $0.flatMap { _ in .failure(DownloadError.isShutDown) } } as [Result<Download, DownloadError>]
        for (position, request) in requests.enumerated() {
            guard case .success(let request) = request else { continue }
            let saved = next.next() ?? nil
            if saved != nil || !seen.insert(Identity(request)).inserted {
                known.append((position, saved))
                continue
            }
            let record = catalog.newRecord(request)
            new.append(record)
            let id = DownloadID(record.id) ?? DownloadID()
            results[position] = .success(handle(id, record, isNew: !request.startsPaused))
        }
        var failure: DownloadError?
        do throws(DownloadError) {
            // One durable transaction for all new records. If it fails, none of them is stored.
            if !new.isEmpty { try await store.commit(new.map { ($0, nil) }, durably: true) }
        } catch { failure = error }
        if failure == nil {
            for record in new {
                announceAddition(of: record)
                if !record.request.startsPaused { scheduler.enqueue(record) }
            }
        }
        // Comes after the commit, because the download of a known request may be one of the new records.
        for (position, saved) in known { results[position] = await addKnown(requests[position], saved) }
        scheduler.startQueuedDownloads()
        guard let failure else { return results }
        let lost = Set(new.map(\.id))
        return results.map { $0.flatMap { lost.contains($0.id.description) ? .failure(failure) : .success($0) } }
    }

    private func addKnown(_ request: Result<DownloadRequest, DownloadError>, _ saved: DownloadStore.Saved?) async
        -> Result<Download, DownloadError>
    {
        do throws(DownloadError) {
            let request = try request.get()
            if let saved { return .success(try await addOne(request, saved)) }
            // An earlier request of the list is for the same download, which is stored by now.
            return .success(try await addOne(request, try await store.find(request)))
        } catch { return .failure(error) }
    }
}

/// The parts of a request that identify its download.
private struct Identity: Hashable {
    var key: String?
    var file: String?
    var folder: String?
    var url: URL?
    var method: DownloadRequest.Method?

    init(_ request: DownloadRequest) {
        key = request.key
        guard key == nil else { return }
        switch request.destination {
        case .file(let path): file = path
        case .folder(let path): (folder, url, method) = (path, request.url, request.method)
        }
    }
}

/// Checks the requests of a list. Remembers the absolute path of each folder, because many requests name the same few
/// folders.
private struct AbsolutePaths {
    private var folders: [String: String] = [:]

    mutating func checked(_ request: DownloadRequest) throws(DownloadError) -> DownloadRequest {
        guard case .folder(let folder) = request.destination else { return try Downloader.checked(request) }
        var request = request
        if let known = folders[folder] {
            request.destination = .folder(path: known)
            return try Downloader.checked(request, isAbsolute: true)
        }
        request = try Downloader.checked(request)
        if case .folder(let path) = request.destination { folders[folder] = path }
        return request
    }
}
