public import Foundation
internal import Synchronization

extension Download {
    /// Opens the file for reading at any position, also while it is being downloaded.
    ///
    /// ```swift
    /// if let reader = try await download.reader() {
    ///     print(try await reader.read(at: 0, upTo: 1 << 20).count)
    /// }
    /// ```
    ///
    /// - Returns: `nil` if the file cannot be read yet: its length is unknown, or it is a film that has to be put
    ///   together from its parts first.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/notFound``; ``DownloadError/Code/contentChanged`` if
    ///   the file was moved, or replaced or changed by another program; a disk code if the file cannot be read;
    ///   ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    public func reader() async throws(DownloadError) -> DownloadReader? {
        try await downloader.reader(of: self)
    }
}

/// Reads one version of a file, and waits for bytes that have not arrived yet. If the server can send ranges of exactly
/// this version, the download first fetches the bytes that readers wait for. The newest reader comes before the others.
///
/// Can be used from any thread. A reader counts as waiting for a byte until the byte is written or the reader is
/// released. All bytes are of one version. A digest of the file or of a piece may still prove that bytes already read
/// are wrong.
public final class DownloadReader: Sendable {
    /// Complete length of the file in bytes.
    public let length: Int64
    /// Entity tag of the version, with its quotes, for an `ETag` field (RFC 9110 §8.8.3). If the version has a strong
    /// validator, all readers of the version have the same tag, also after the download is complete. Otherwise each
    /// reader of an unfinished file has a tag of its own.
    package let entityTag: String
    private let download: Download
    private let number: Int
    private let version: ReadVersion
    private struct State {
        var source: ReadSource
        var hasWaited = false
    }
    private let state: Mutex<State>

    private static let mostRead = 16 << 20

    fileprivate init(_ download: Download, _ found: FoundFile, number: Int) {
        (self.download, version, self.number) = (download, found.version, number)
        length = version.total
        let finished = found.finished.map { "f\($0.inode)-\($0.modified)" }
        let name = version.isNamed ? version.name : finished ?? "u\(number)"
        entityTag = "\"\(download.id)-\(version.total)-\(name)\""
        state = Mutex(State(source: found.source))
    }

    deinit {
        guard state.withLock(\.hasWaited) else { return }
        let (downloader, id, number) = (download.downloader, download.id, number)
        Task { await downloader.readerLeft(number, of: id) }
    }

    /// Returns bytes of the file. If the first of them is missing, waits until it is written.
    ///
    /// Also waits while the download is queued, connects or waits for its next attempt. A paused download supplies only
    /// the bytes that it already has.
    ///
    /// - Parameters:
    ///   - offset: position of the first byte.
    ///   - count: largest number of bytes; more than 16 MiB count as 16 MiB.
    /// - Returns: at least one byte; none if `offset` lies outside the file or `count` is not positive.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/contentChanged`` if the download has started over
    ///   with another version or another program has changed the file; ``DownloadError/Code/waitCancelled`` if this
    ///   task was cancelled, or the byte is missing and the download is paused; the error of a failed download;
    ///   ``DownloadError/Code/notFound`` if the download was removed; a disk code; ``DownloadError/Code/storeFailed``
    ///   or ``DownloadError/Code/shutDown``.
    public func read(at offset: Int64, upTo count: Int) async throws(DownloadError) -> Data {
        guard offset >= 0, offset < length, count > 0 else { return Data() }
        let count = Int(min(Int64(min(count, Self.mostRead)), length - offset))
        var listener: EventBroadcaster.Listener?
        defer { listener?.leave() }
        while true {
            if Task.isCancelled { throw Self.cancelled }
            if download.snapshot.state == .cancelled { throw .notFound(download.id) }
            let source = state.withLock(\.source)
            if let bytes = try await source.read(at: offset, count: count, of: length) { return Data(bytes) }
            state.withLock { $0.hasWaited = true }
            switch try await download.downloader.next(after: source, version, at: offset, number, download) {
            case .read(let next): state.withLock { $0.source = next }
            case .wait(let part, let version): await part.wait(forByteAt: offset, of: version)
            case .waitForChange:
                // The first event reports the present state, so the loop examines the download once more before it
                // waits.
                let events = listener ?? download.hub.listen()
                listener = events
                if await events.next() == nil, !Task.isCancelled { throw Self.stopped(download.snapshot) }
            }
        }
    }

    private static let cancelled = DownloadError(
        .waitCancelled,
        "The wait for the bytes was cancelled. The download itself was not."
    )

    fileprivate static func stopped(_ snapshot: DownloadSnapshot) -> DownloadError {
        if snapshot.state == .failed, let error = snapshot.error { return error }
        return DownloadError(.waitCancelled, "The download does not run, and these bytes have not arrived.")
    }
}

enum ReadSource: Sendable {
    /// A partial file that the download has open, or had open until it was complete.
    case part(PartFile, version: Int)
    /// A file that no download has open, its readable ranges, and the executor for the reads.
    case file(any DiskFile, ByteSet, BlockingExecutor)

    /// Reads up to `count` bytes of a file of length `total`; `nil` if the first byte is missing.
    func read(at offset: Int64, count: Int, of total: Int64) async throws(DownloadError) -> [UInt8]? {
        do throws(DiskError) {
            switch self {
            case .part(let part, let version):
                // The file of a download that was stopped may be deleted or belong to another run.
                if part.isReleased, part.persisted.prefix < total { return nil }
                return try await part.read(at: offset, count: count, of: version)
            case .file(let file, let bytes, let executor):
                let end = bytes.end(from: offset)
                guard end > offset else { return nil }
                let count = Int(min(Int64(count), end - offset))
                let read = try await executor.run { () throws(DiskError) in try file.read(at: offset, count: count) }
                guard !read.isEmpty else { throw DiskError(.cutShort, call: "pread", path: file.path) }
                return read
            }
        } catch { throw DownloadError(error) }
    }
}

/// The file of a download as it is now, and its version.
private struct FoundFile: Sendable {
    var source: ReadSource
    var version: ReadVersion
    /// Status of the finished file at its publication; `nil` for an unfinished file.
    var finished: FileStatus?
}

/// The next step of a reader whose byte is missing.
enum ReadStep: Sendable {
    /// Reads another file of the same version.
    case read(ReadSource)
    /// Waits for the byte in the partial file.
    case wait(PartFile, version: Int)
    /// Waits for the next event of the download.
    case waitForChange
}

extension Downloader {
    fileprivate func reader(of download: Download) async throws(DownloadError) -> DownloadReader? {
        guard let found = try await readSource(download.id) else { return nil }
        return DownloadReader(download, found, number: engine.waitingReaders.nextNumber())
    }

    fileprivate func readerLeft(_ number: Int, of id: DownloadID) {
        engine.waitingReaders.leave(number, of: id, tasks[id])
    }

    /// Returns the next step of a reader that has not found the byte at `offset` in `source`.
    ///
    /// - Throws: ``DownloadError`` if the byte will not arrive, or would belong to another version.
    fileprivate func next(
        after source: ReadSource,
        _ version: ReadVersion,
        at offset: Int64,
        _ number: Int,
        _ download: Download
    ) async throws(DownloadError) -> ReadStep {
        let found = try await readSource(download.id)
        switch (found?.source, source) {
        case (.part(let new, let newVersion), .part(let old, let oldVersion)) where new === old:
            guard newVersion == oldVersion else { throw Self.otherVersion }
            if let task = tasks[download.id], task.part === new {
                engine.waitingReaders.wait(number, at: offset, task)
            }
            return .wait(new, version: oldVersion)
        case (let new?, _):
            guard let found, found.version.isSame(as: version) else { throw Self.otherVersion }
            if case .file(_, let bytes, _) = new, bytes.end(from: offset) == offset { break }
            return .read(new)
        case (nil, .part(let old, let oldVersion)) where old.version != oldVersion: throw Self.otherVersion
        case (nil, _): break
        }
        // A download that is not in memory is paused, has ended, or is queued. Its last snapshot has the state.
        let state = tasks[download.id]?.present().state ?? download.snapshot.state
        guard state == .queued || state.isActive else { throw DownloadReader.stopped(download.snapshot) }
        return .waitForChange
    }

    /// Returns the file of a download as it is now, and its version; `nil` if it cannot be read now.
    private func readSource(_ id: DownloadID) async throws(DownloadError) -> FoundFile? {
        try checkIsOpen()
        if let task = tasks[id], let part = task.part { return Self.readSource(task, part) }
        guard let saved = try await store.find(id: id.description) else { throw .notFound(id) }
        // The download may have opened the file meanwhile.
        if let task = tasks[id], let part = task.part { return Self.readSource(task, part) }
        let record = saved.record
        let (disk, executor) = (services.disk, services.executor)
        if record.status == .completed {
            guard let path = record.finalPath, let finished = record.finished else { return nil }
            guard let version = ReadVersion(record.resource, isFinished: true), version.total == finished.size else {
                return nil
            }
            let file = try await services.onDisk { () throws(DiskError) -> (any DiskFile)? in
                guard try disk.status(path) != nil else { return nil }
                let file = try disk.openForReading(path)
                return try file.status().isUnchanged(since: finished) ? file : nil
            }
            guard let file else { throw Self.otherFile(path) }
            let bytes = ByteSet(prefix: finished.size)
            return FoundFile(source: .file(file, bytes, executor), version: version, finished: finished)
        }
        guard let path = record.partPath, let part = record.part, let progress = saved.progress,
            let version = ReadVersion(record.resource)
        else { return nil }
        let bytes = progress.persisted(bootID: disk.bootID).written
        let file = try await services.onDisk { () throws(DiskError) -> (any DiskFile)? in
            guard try disk.status(path) != nil else { return nil }
            let file = try disk.openForReading(path)
            return try file.status().isSameFile(as: part) ? file : nil
        }
        guard let file else { throw Self.otherFile(path) }
        return FoundFile(source: .file(file, bytes, executor), version: version)
    }

    private static func readSource(_ task: DownloadTask, _ part: PartFile) -> FoundFile? {
        // The file may already hold the first bytes of another version. The machine takes over that version only after
        // the preparation.
        if case .preparing(_, let preparation, _) = task.machine.state, preparation.startsOver { return nil }
        guard let version = ReadVersion(task.machine.resource) else { return nil }
        return FoundFile(source: .part(part, version: part.version), version: version)
    }

    private static let otherVersion = DownloadError(
        .contentChanged,
        "The download has started over with another version of the file."
    )

    private static func otherFile(_ path: String) -> DownloadError {
        DownloadError(.contentChanged, "\(path) is no longer the file that was downloaded.")
    }
}
