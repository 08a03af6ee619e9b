internal import Foundation
internal import Synchronization

/// Compares the folder of a set with its list, and decides for each name whether its file has to be fetched.
struct SetComparison: Sendable {
    enum Finding: Sendable, Hashable {
        /// The file is there and right. `isRecorded` is `false` if the file was read to find this out.
        case right(FileStatus, isRecorded: Bool)
        case missing
        /// The file has other bytes or another length than its publisher names, or is a symbolic link.
        case different
        /// The file is there and has no digest, so only the server knows whether the file is the present version.
        case undecided(FileStatus)
        /// A folder or a device has the name, or the file cannot be read.
        case blocked(DownloadError)
    }

    let folder: SetFolder
    let services: EngineServices
    /// Whether to read every file, even one that matches its record.
    let readsAll: Bool
    /// Set when the downloader shuts down. The reading of files then ends.
    let isStopping: CancelFlag

    /// - Returns: a finding for each file, in order.
    func findings(_ files: [FileSet.File], _ records: [String: SetRecord]) async throws(DownloadError) -> [Finding] {
        let statuses = try await folder.statuses(of: files.map(\.name), services.disk)
        var findings: [Finding] = []
        findings.reserveCapacity(files.count)
        var unread: [Int] = []
        for (index, file) in files.enumerated() {
            let finding: Finding? =
                switch statuses[index] {
                case .success(let status): self.finding(file, status, records[file.name])
                case .failure(let error): .blocked(DownloadError(error))
                }
            findings.append(finding ?? .missing)
            if finding == nil { unread.append(index) }
        }
        let found = statuses.map { status -> FileStatus? in
            if case .success(let status) = status { status } else { nil }
        }
        for (index, finding) in try await read(unread, files, found) { findings[index] = finding }
        return findings
    }

    /// - Returns: `nil` for a file that has to be read.
    private func finding(_ file: FileSet.File, _ status: FileStatus?, _ record: SetRecord?) -> Finding? {
        guard let status else { return .missing }
        guard status.kind == .file else {
            // A download replaces a link by the file. It never writes through the link.
            if status.kind == .symbolicLink { return .different }
            let path = folder.path(of: file.name)
            return .blocked(DownloadError(.fileExists, "\(path) is a folder or a device, not a file."))
        }
        if let size = file.size, size != status.size { return .different }
        guard file.checksum != nil else { return .undecided(status) }
        if !readsAll, let record, record.stands(for: status, file.checksum) { return .right(status, isRecorded: true) }
        return nil
    }

    /// Reads files on all cores and compares their digests.
    private func read(_ unread: [Int], _ files: [FileSet.File], _ statuses: [FileStatus?]) async throws(DownloadError)
        -> [(Int, Finding)]
    {
        guard !unread.isEmpty else { return [] }
        let lanes = min(unread.count, max(1, ProcessInfo.processInfo.activeProcessorCount))
        let isCancelled = CancelFlag()
        let results = await withTaskCancellationHandler {
            await withTaskGroup(of: Result<[(Int, Finding)], DownloadError>.self) { group in
                let portions = Portions(of: unread) { statuses[$0]?.size ?? 0 }
                for _ in 0..<lanes {
                    group.addTask {
                        do throws(DownloadError) {
                            var found: [(Int, Finding)] = []
                            while let portion = portions.take() {
                                found += try await services.runBlocking { () throws(DownloadError) in
                                    try portion.map { index throws(DownloadError) in
                                        (index, try finding(reading: files[index], statuses[index], isCancelled))
                                    }
                                }
                            }
                            return .success(found)
                        } catch { return .failure(error) }
                    }
                }
                return await group.reduce(into: [Result<[(Int, Finding)], DownloadError>]()) { $0.append($1) }
            }
        } onCancel: {
            isCancelled.set()
        }
        var found: [(Int, Finding)] = []
        for result in results { found += try result.get() }
        return found
    }

    /// Reads a file. Blocks.
    ///
    /// - Throws: only ``DownloadError/Code/shutDown`` and ``DownloadError/Code/cancelled``.
    private func finding(
        reading file: FileSet.File,
        _ status: FileStatus?,
        _ isCancelled: CancelFlag
    ) throws(DownloadError) -> Finding {
        guard let checksum = file.checksum, let status else { return .missing }
        let path = folder.path(of: file.name)
        do throws(DiskError) {
            let opened = try services.disk.openForReading(path)
            let stops = { isStopping.isSet || isCancelled.isSet }
            if let actual = try DownloadRequest.Checksum.read(checksum.algorithm, opened, isCancelled: stops) {
                guard actual == checksum else { return .different }
                // The file may have been changed while it was read.
                let now = try services.disk.status(path)
                guard let now, now.isUnchanged(since: status) else { return .different }
                return .right(now, isRecorded: false)
            }
        } catch { return error.kind == .notFound ? .missing : .blocked(DownloadError(error)) }
        throw isStopping.isSet ? .isShutDown : DownloadError(.cancelled, "The comparison of the set was cancelled.")
    }
}

/// Hands out indices to several tasks, in portions that are large enough to be worth a change of thread, and small
/// enough not to keep a thread from other calls for long.
private final class Portions: Sendable {
    private static let most: (files: Int, bytes: Int64) = (64, 4 << 20)

    private let rest: Mutex<ArraySlice<Int>>
    private let size: @Sendable (Int) -> Int64

    /// - Parameter size: returns the bytes of the file with an index.
    init(of indices: [Int], size: @escaping @Sendable (Int) -> Int64) {
        rest = Mutex(indices[...])
        self.size = size
    }

    /// - Returns: `nil` if nothing is left. A portion has at least one file, and then only as many as are within the
    ///   limits.
    func take() -> ArraySlice<Int>? {
        rest.withLock { rest in
            var bytes: Int64 = 0
            let end = rest.prefix(Self.most.files).firstIndex { index in
                bytes = bytes.addingClamped(size(index))
                return bytes > Self.most.bytes
            }
            let count = end.map { max(1, $0 - rest.startIndex) } ?? min(rest.count, Self.most.files)
            guard count > 0 else { return nil }
            defer { rest.removeFirst(count) }
            return rest.prefix(count)
        }
    }
}
