internal import Foundation

/// Adding a list: the store is asked and written once for hundreds of downloads, not once for each.
extension Downloader {
    /// Adds many downloads at once, each as ``add(_:)`` would, and returns what came of each, in the order of the requests.
    ///
    /// The same URL twice into the same folder is one download, returned twice. Different URLs whose names in one folder would
    /// be the same get numbered names before anything is asked of a server (``ListedNames``); a named file that a second
    /// request of the list wants to fill from another URL is refused with ``DownloadError/Code/inUse``.
    ///
    /// Downloads begin while the rest of the list is still being added.
    public func add(_ requests: [DownloadRequest]) async -> [Result<Download, DownloadError>] {
        let names = ListedNames(requests)
        var results: [Result<Download, DownloadError>] = []
        results.reserveCapacity(requests.count)
        var paths = AbsolutePaths()
        var start = 0
        while start < requests.count {
            // A few first, so that the connections have something to do.
            let end = min(requests.count, start + (start == 0 ? 64 : Self.addedTogether))
            let part = (start..<end).map { position in
                Result { () throws(DownloadError) in
                    if let refusal = names.refused[position] { throw refusal }
                    return try paths.checked(names.requests[position])
                }
            }
            await results.append(contentsOf: addTogether(part))
            start = end
            // Others have something to ask of this actor too.
            await Task.yield()
        }
        return results
    }

    /// Downloads that share a transaction when they are added.
    private static let addedTogether = 512

    private func addTogether(_ requests: [Result<DownloadRequest, DownloadError>]) async
        -> [Result<Download, DownloadError>]
    {
        let readable = requests.compactMap { try? $0.get() }
        let saved: [DownloadStore.Saved?]
        do throws(DownloadError) {
            guard !isShuttingDown else { throw Self.isShutDown }
            saved = try await store.find(readable)
            guard !isShuttingDown else { throw Self.isShutDown }
        } catch {
            return requests.map { $0.flatMap { _ in .failure(error) } }
        }
        var next = saved.makeIterator()
        var new: [DownloadRecord] = []
        var known: [(position: Int, saved: DownloadStore.Saved?)] = []
        var results =
            requests.map { $0.flatMap { _ in .failure(Self.isShutDown) } } as [Result<Download, DownloadError>]
        for (position, request) in requests.enumerated() {
            guard case .success(let request) = request else { continue }
            let saved = next.next() ?? nil
            let target = Target(request)
            if saved != nil || byTarget[target] != nil {
                known.append((position, saved))
                continue
            }
            let entry = newEntry(request)
            insert(entry, target)
            new.append(entry.record)
            results[position] = .success(Download(entry.id, self, entry.hub))
        }
        var failure: DownloadError?
        do throws(DownloadError) {
            // One durable transaction for all of them; none of them is there if it fails.
            if !new.isEmpty { try await store.commit(new.map { ($0, nil) }, durably: true) }
        } catch { failure = error }
        // What is there already goes first, one by one: it has been begun before.
        for (position, saved) in known { results[position] = await addKnown(requests[position], saved) }
        for entry in new.compactMap({ DownloadID($0.id).flatMap { entries[$0] } }) {
            if failure == nil { enqueue(entry) } else { drop(entry) }
        }
        guard let failure else { return results }
        let lost = Set(new.map(\.id))
        return results.map { $0.flatMap { lost.contains($0.id.description) ? .failure(failure) : .success($0) } }
    }

    private func addKnown(_ request: Result<DownloadRequest, DownloadError>, _ saved: DownloadStore.Saved?) async
        -> Result<Download, DownloadError>
    {
        do throws(DownloadError) {
            let request = try request.get()
            let target = Target(request)
            if let download = try await again(request, target) { return .success(download) }
            return .success(try await add(request, target, saved))
        } catch { return .failure(error) }
    }
}

/// Checks the requests of a list: its folders are few, and asking where they are costs a call each.
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
