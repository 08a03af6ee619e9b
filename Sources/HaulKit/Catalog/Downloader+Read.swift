public import Foundation

/// Reading a file while it comes: playing a film, listing an archive.
extension Download {
    /// How many bytes can be read from a position on before one is missing: of the file that is complete, and of the partial file,
    /// whether the download runs or not.
    ///
    /// ```swift
    /// for await _ in download.events {
    ///     if try await download.contiguousBytes() >= 1 << 20 { break }
    /// }
    /// let head = try await download.read(0..<1 << 20)
    /// ```
    ///
    /// - Parameter offset: in bytes from the beginning of the file.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/notFound``, ``DownloadError/Code/storeFailed`` or
    ///   ``DownloadError/Code/shutDown``.
    public func contiguousBytes(from offset: Int64 = 0) async throws(DownloadError) -> Int64 {
        try await downloader.readable(id).bytes.end(from: offset) - offset
    }

    /// Reads bytes of the file that are there, complete or not.
    ///
    /// They are what the server sent for one version of the file; a digest that is compared at the end, or with each piece, may
    /// prove them wrong yet. If the server turns out to have another version, the download starts over, and bytes that were read
    /// before belong to the former one.
    ///
    /// - Parameter range: in bytes of the file.
    /// - Returns: the bytes from the beginning of `range` on, up to its end, to the first byte that is not there, or to 16 MiB,
    ///   whichever comes first; empty where the first byte is missing.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/notFound``; ``DownloadError/Code/contentChanged`` when the file
    ///   was moved, or replaced or changed by somebody else; a disk code when it cannot be read;
    ///   ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    public func read(_ range: Range<Int64>) async throws(DownloadError) -> Data {
        try await downloader.read(range, of: id)
    }
}

extension Downloader {
    /// The bytes of a download that can be read, and their place.
    fileprivate struct Readable {
        enum Place {
            /// The partial file of a download that has it open.
            case part(PartFile)
            /// A file that no download has open, with its status after the last write.
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
        let end = min(readable.bytes.firstMissing(in: start..<max(start, range.upperBound)), start + Self.mostRead)
        guard start == range.lowerBound, end > start else { return Data() }
        let count = Int(end - start)
        switch readable.place {
        case .nowhere: return Data()
        case .part(let part):
            do throws(DiskError) {
                let bytes = try await part.read(at: start, count: count)
                // The download may have started over meanwhile.
                return part.persisted.written.containsAll(of: start..<end) ? Data(bytes) : Data()
            } catch { throw DownloadError(error) }
        case .file(let path, let expected, let isFinished):
            let disk = services.disk
            let bytes = try await services.onDisk { () throws(DiskError) -> [UInt8]? in
                guard try disk.status(path) != nil else { return nil }
                let file = try PosixFile.reading(path)
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
