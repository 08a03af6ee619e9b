internal import Crypto
internal import Foundation
internal import HaulKit

/// Writes the files of items into one file. Runs on a thread that may block.
struct ShardFile {
    /// Data that the queue stores of a shard before it gets its name.
    struct Summary: Sendable, Hashable {
        var format: ShardSettings.Format
        /// Path of the file, below the folder that has the staging folders of all workers.
        var staged: String
        var bytes: Int64
        /// SHA-256 of the shard, 32 bytes.
        var sha256: [UInt8]

        /// Name of the file in its staging folder.
        var fileName: String { String(staged.split(separator: "/").last ?? "") }
    }

    struct Result: Sendable {
        var summary: Summary
        var items: [ShardItem] = []
        /// Files that the shard does not have, because they could not be read.
        var failures: [LeaseKey: FleetError] = [:]
    }

    /// Name of the files that become shards, without the part that makes it unique.
    static let prefix = "shard-"

    private let path: String
    private let descriptor: Int32
    private var hash = SHA256()
    private var bytes: Int64 = 0
    private var buffer: [UInt8] = []

    private static let bufferSize = 1 << 20

    /// Writes a shard into a new file of the folder `staging`, and syncs it.
    ///
    /// - Throws: ``FleetError/Code/disk`` if the shard cannot be written; its file is removed then.
    static func build(
        _ files: [StagedFile],
        _ settings: ShardSettings,
        in staging: String
    ) throws(FleetError) -> Result {
        let name = "\(prefix)\(UUID().uuidString)"
        var shard = try ShardFile(path: "\(staging)/\(name)")
        do throws(FleetError) {
            let folder = staging.split(separator: "/").last ?? ""
            let result = try shard.write(files, settings, staged: "\(folder)/\(name)")
            SystemCalls.close(shard.descriptor)
            return result
        } catch {
            SystemCalls.close(shard.descriptor)
            remove(shard.path)
            throw error
        }
    }

    /// Removes a file that became no shard, or has its name already.
    static func remove(_ path: String) {
        do throws(SystemCalls.Errno) { try SystemCalls.remove(path) } catch {
            // The file stays until the next start of a worker with this folder removes it.
        }
    }

    private init(path: String) throws(FleetError) {
        self.path = path
        descriptor = Foundation.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o666)
        guard descriptor >= 0 else { throw Self.failure("made", path, errno) }
        buffer.reserveCapacity(Self.bufferSize)
    }

    private mutating func write(
        _ files: [StagedFile],
        _ settings: ShardSettings,
        staged: String
    ) throws(FleetError) -> Result {
        let writer = settings.format.writer(date: Date())
        var (items, failures) = ([ShardItem](), [LeaseKey: FleetError]())
        items.reserveCapacity(files.count)
        try append(writer.opening)
        var written: [[UInt8]: ShardItem] = [:]
        for file in files {
            if let first = written[file.sha256] {
                items.append(ShardItem(file, at: first.offset, sharing: first.key.item))
                continue
            }
            let source: Int32
            do throws(FleetError) { source = try Self.open(file) } catch {
                failures[file.key] = error
                continue
            }
            defer { SystemCalls.close(source) }
            try append(writer.head(of: file))
            let item = ShardItem(file, at: bytes)
            items.append(item)
            if settings.contents != nil { written[file.sha256] = item }
            try append(file, source)
            try append(writer.tail(of: file))
        }
        try append(writer.closing)
        try flush()
        do throws(SystemCalls.Errno) { try SystemCalls.syncAll(descriptor) } catch {
            throw FolderFailure.error(error, "sync", path)
        }
        let summary = Summary(format: settings.format, staged: staged, bytes: bytes, sha256: Array(hash.finalize()))
        return Result(summary: summary, items: items, failures: failures)
    }

    private static func open(_ file: StagedFile) throws(FleetError) -> Int32 {
        let source = Foundation.open(file.stagedPath, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard source >= 0 else { throw failure("opened", file.stagedPath, errno) }
        let entry: SystemCalls.Entry
        do throws(SystemCalls.Errno) { entry = try SystemCalls.entry(source) } catch {
            SystemCalls.close(source)
            throw failure("read", file.stagedPath, error.code)
        }
        if entry.kind == .file, entry.size == file.bytes { return source }
        SystemCalls.close(source)
        throw FleetError(
            .disk,
            "The staged file \(file.stagedPath) was changed: it has \(entry.size) bytes instead of \(file.bytes)."
        )
    }

    private mutating func append(_ file: StagedFile, _ source: Int32) throws(FleetError) {
        var failure: FleetError?
        let count: Int64
        do throws(SystemCalls.Errno) {
            count = try FileHash.read(source, 0..<file.bytes) { part in
                guard failure == nil else { return }
                do throws(FleetError) { try append(part) } catch { failure = error }
            }
        } catch { throw Self.failure("read", file.stagedPath, error.code) }
        if let failure { throw failure }
        guard count == file.bytes else {
            throw FleetError(.disk, "The staged file \(file.stagedPath) became shorter.").blamingNoFile()
        }
    }

    private mutating func append(_ part: [UInt8]) throws(FleetError) {
        buffer.append(contentsOf: part)
        bytes += Int64(part.count)
        if buffer.count >= Self.bufferSize { try flush() }
    }

    private mutating func append(_ part: UnsafeRawBufferPointer) throws(FleetError) {
        buffer.append(contentsOf: part)
        bytes += Int64(part.count)
        if buffer.count >= Self.bufferSize { try flush() }
    }

    private mutating func flush() throws(FleetError) {
        hash.update(data: buffer)
        do throws(SystemCalls.Errno) { try SystemCalls.writeAll(descriptor, buffer) } catch {
            throw FolderFailure.error(error, "write", path).blamingNoFile()
        }
        buffer.removeAll(keepingCapacity: true)
    }

    private static func failure(_ what: String, _ path: String, _ code: Int32) -> FleetError {
        FleetError(.disk, "\(path) cannot be \(what): \(SystemCalls.describe(errno: code)).")
    }
}
