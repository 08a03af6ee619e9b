public import Foundation

/// Reads a file while it is being downloaded, for instance to play a film or to list an archive.
extension Download {
    /// Returns the number of received bytes from `offset` to the first missing byte, in the complete or the partial
    /// file. The download need not run.
    ///
    /// ```swift
    /// for await _ in download.events {
    ///     if try await download.contiguousBytes() >= 1 << 20 { break }
    /// }
    /// let head = try await download.read(0..<1 << 20)
    /// ```
    ///
    /// - Parameter offset: position in bytes from the beginning of the file.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/notFound``, ``DownloadError/Code/storeFailed`` or
    ///   ``DownloadError/Code/shutDown``.
    public func contiguousBytes(from offset: Int64 = 0) async throws(DownloadError) -> Int64 {
        try await downloader.readable(id).bytes.end(from: offset) - offset
    }

    /// Reads received bytes of the file, whether the file is complete or not.
    ///
    /// The bytes are of one version of the file. A digest of the file or of a piece may still prove them wrong. If the
    /// server turns out to have another version, the download starts over. Bytes that were read before then belong to
    /// the former version.
    ///
    /// - Parameter range: positions of bytes in the file.
    /// - Returns: the bytes from the beginning of `range` to its end, to the first missing byte, or to 16 MiB,
    ///   whichever comes first. Empty if the first byte is missing.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/notFound``; ``DownloadError/Code/contentChanged`` if
    ///   the file was moved, or replaced or changed by another program; a disk code if the file cannot be read;
    ///   ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    public func read(_ range: Range<Int64>) async throws(DownloadError) -> Data {
        try await downloader.read(range, of: id)
    }
}

extension Downloader {
    /// The readable bytes of a download, and the file that has them.
    fileprivate struct Readable {
        enum Place {
            /// The partial file, which the download has open.
            case part(PartFile)
            /// The path of a file that no download has open, and the status that the record has of this file.
            case file(String, FileStatus, isFinished: Bool)
            case nowhere
        }
        var place: Place
        var bytes: ByteSet
    }

    private static let mostRead: Int64 = 16 << 20

    fileprivate func readable(_ id: DownloadID) async throws(DownloadError) -> Readable {
        try checkIsOpen()
        if let part = tasks[id]?.part { return Readable(place: .part(part), bytes: part.persisted.written) }
        guard let saved = try await store.find(id: id.description) else { throw .notFound(id) }
        let record = saved.record
        if record.status == .completed {
            guard let path = record.finalPath, let finished = record.finished else {
                return Readable(place: .nowhere, bytes: ByteSet())
            }
            let bytes = ByteSet(prefix: finished.size)
            return Readable(place: .file(path, finished, isFinished: true), bytes: bytes)
        }
        guard let path = record.partPath, let part = record.part, let progress = saved.progress else {
            return Readable(place: .nowhere, bytes: ByteSet())
        }
        let bytes = progress.persisted(bootID: services.disk.bootID).written
        return Readable(place: .file(path, part, isFinished: false), bytes: bytes)
    }

    fileprivate func read(_ range: Range<Int64>, of id: DownloadID) async throws(DownloadError) -> Data {
        let readable = try await readable(id)
        let start = max(0, range.lowerBound)
        let end = min(
            readable.bytes.firstMissing(in: start..<max(start, range.upperBound)),
            start.addingClamped(Self.mostRead)
        )
        guard start == range.lowerBound, end > start else { return Data() }
        let count = Int(end - start)
        switch readable.place {
        case .nowhere: return Data()
        case .part(let part):
            do throws(DiskError) {
                let bytes = try await part.read(at: start, count: count)
                // Returns nothing if the download has started over meanwhile.
                return part.persisted.written.containsAll(of: start..<end) ? Data(bytes) : Data()
            } catch { throw DownloadError(error) }
        case .file(let path, let expected, let isFinished):
            let disk = services.disk
            let bytes = try await services.onDisk { () throws(DiskError) -> [UInt8]? in
                guard try disk.status(path) != nil else { return nil }
                let file = try disk.openForReading(path)
                let status = try file.status()
                let isSame = isFinished ? status.isUnchanged(since: expected) : status.isSameFile(as: expected)
                return isSame ? try file.read(at: start, count: count) : nil
            }
            guard let bytes, bytes.count == count else {
                throw DownloadError(.contentChanged, "\(path) is no longer the file that was downloaded.")
            }
            return Data(bytes)
        }
    }
}
