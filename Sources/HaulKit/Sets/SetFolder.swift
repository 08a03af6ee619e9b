internal import Foundation
internal import NIOCore
internal import Synchronization

/// The folder of a set and the records of earlier syncs in `.haul/set.jsonl` below it.
///
/// Because of its record, an unchanged file need not be read. A record counts only for a file with the same identity,
/// size and modification time.
final class SetFolder: Sendable {
    /// The file of records while a sync adds to it.
    private struct Journal {
        let file: any DiskFile
        var end: Int64
    }

    /// Absolute path.
    let path: String
    private let journal = Mutex<Journal?>(nil)
    private let lock = Mutex<NameLock?>(nil)

    init(_ path: String) { self.path = path }

    private var statePath: String { FilePaths.join(path, PlacedSet.stateFolder) }
    private var recordsPath: String { FilePaths.join(statePath, "set.jsonl") }

    func path(of name: String) -> String { FilePaths.join(path, name) }

    /// Makes the folder and takes its lock.
    ///
    /// - Throws: ``DownloadError/Code/inUse`` if another sync of the folder runs.
    func open(_ disk: any Disk) async throws(DownloadError) {
        let (statePath, root) = (statePath, path)
        let taken: NameLock? = try await onDisk { () throws(DiskError) in
            // Follows no link, because a set might have put one there.
            try disk.walk(to: statePath, beneath: root, making: true)
            let lock = try NameLock(FilePaths.join(statePath, "lock"), followsLinks: false)
            return try lock.take(isExclusive: true) ? lock : nil
        }
        guard let taken else {
            throw DownloadError(.inUse, "Another sync of \(path) is running.")
        }
        lock.withLock { $0 = taken }
    }

    func close() {
        journal.withLock { $0 = nil }
        lock.withLock { $0 = nil }
    }

    // MARK: Records

    /// Reads the records of earlier syncs. Lines that cannot be read are left out: their files are read again.
    func records() async throws(DownloadError) -> SetRecords {
        let path = recordsPath
        return try await onDisk { () throws(DiskError) in
            guard let data = FileManager.default.contents(atPath: path) else { return SetRecords() }
            var records = SetRecords()
            let decoder = JSONDecoder()
            let lines = data.split(separator: UInt8(ascii: "\n"))
            if let head = lines.first.flatMap({ try? decoder.decode(SetRecordHead.self, from: $0) }) {
                records.source = head.source
            }
            for line in lines.dropFirst() {
                // A line is cut short if the process was killed during the write.
                guard let record = try? decoder.decode(SetRecord.self, from: line), record.hasNameOfSet else {
                    continue
                }
                records.byName[record.name] = record
            }
            return records
        }
    }

    /// Adds a record. A record that cannot be written is lost, and its file is read by the next sync.
    func note(_ record: SetRecord, _ disk: any Disk) {
        guard let line = Self.line(record) else { return }
        journal.withLock { journal in
            do throws(DiskError) {
                var open: Journal
                if let journal { open = journal } else { open = try opened(disk) }
                try open.file.write([ByteBuffer(bytes: line)], at: open.end)
                open.end += Int64(line.count)
                journal = open
            } catch {}
        }
    }

    private func opened(_ disk: any Disk) throws(DiskError) -> Journal {
        // Does not append to a file that has a second hard link, because that file may be somebody else's. A new file
        // replaces it.
        let isNew = try disk.status(recordsPath)?.isPlainFile != true
        let file = isNew ? try disk.createAnew(recordsPath) : try disk.open(recordsPath)
        // The line break ends a line that a killed process has cut short.
        let start = isNew ? Self.line(SetRecordHead(source: "")) ?? [] : Array("\n".utf8)
        let end = try file.size()
        try file.write([ByteBuffer(bytes: start)], at: end)
        return Journal(file: file, end: end + Int64(start.count))
    }

    /// Replaces all records.
    func write(_ records: SetRecords, _ disk: any Disk) async throws(DownloadError) {
        journal.withLock { $0 = nil }
        let (path, statePath) = (recordsPath, statePath)
        try await onDisk { () throws(DiskError) in
            var lines = ByteBuffer(bytes: Self.line(SetRecordHead(source: records.source)) ?? [])
            for record in records.byName.values.sorted(by: { $0.name < $1.name }) {
                lines.writeBytes(Self.line(record) ?? [])
            }
            let file = try disk.createAnew(path + ".new")
            try file.write([lines], at: 0)
            try file.sync()
            try disk.rename(path + ".new", to: path, replacing: true)
            try disk.syncFolder(statePath)
        }
    }

    private static func line(_ value: some Encodable) -> [UInt8]? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and numbers can always be encoded.
        return (try? encoder.encode(value)).map { Array($0) + Array("\n".utf8) }
    }

    // MARK: Files

    /// The status of a file; `nil` where there is no file, or where a folder of its name is a symbolic link. Fails where
    /// the permissions of a folder forbid to look.
    typealias Status = Result<FileStatus?, DiskError>

    /// Returns the status of each name.
    ///
    /// - Throws: the error of any other failure.
    func statuses(of names: [String], _ disk: any Disk) async throws(DownloadError) -> [Status] {
        let (root, paths) = (path, names.map(path(of:)))
        return try await onDisk { () throws(DiskError) in
            var folders: [String: Result<Bool, DiskError>] = [:]
            return try paths.map { path throws(DiskError) in
                let folder = FilePaths.folder(of: path)
                let isThere: Result<Bool, DiskError>
                if let known = folders[folder] {
                    isThere = known
                } else {
                    isThere = try Self.permitted { () throws(DiskError) in
                        try Self.isFolder(folder, beneath: root, disk)
                    }
                    folders[folder] = isThere
                }
                switch isThere {
                case .success(true): return try Self.permitted { () throws(DiskError) in try disk.status(path) }
                case .success(false): return .success(nil)
                case .failure(let error): return .failure(error)
                }
            }
        }
    }

    private static func permitted<Value>(_ call: () throws(DiskError) -> Value) throws(DiskError)
        -> Result<Value, DiskError>
    {
        do throws(DiskError) { return .success(try call()) } catch {
            guard error.kind == .permissionDenied else { throw error }
            return .failure(error)
        }
    }

    private static func isFolder(_ path: String, beneath root: String, _ disk: any Disk) throws(DiskError) -> Bool {
        do throws(DiskError) {
            guard try disk.status(root) != nil else { return false }
            try disk.walk(to: path, beneath: root, making: false)
            return true
        } catch {
            guard [.notFound, .isSymbolicLink, .notAFolder].contains(error.kind) else { throw error }
            return false
        }
    }

    /// Removes a file and the folders that become empty by it.
    func remove(_ name: String, _ disk: any Disk) async throws(DownloadError) {
        let (root, file) = (path, path(of: name))
        try await onDisk { () throws(DiskError) in
            try disk.walk(to: FilePaths.folder(of: file), beneath: root, making: false)
            try disk.remove(file)
            var folder = FilePaths.folder(of: file)
            // `rmdir` refuses a folder that is not empty.
            while FolderWalk.parts(of: folder, beneath: root)?.isEmpty == false, rmdir(folder) == 0 {
                folder = FilePaths.folder(of: folder)
            }
        }
    }

    private func onDisk<Value: Sendable>(_ call: @escaping @Sendable () throws(DiskError) -> Value)
        async throws(DownloadError) -> Value
    {
        do throws(DiskError) { return try await runBlocking(call) } catch { throw DownloadError(error) }
    }
}
