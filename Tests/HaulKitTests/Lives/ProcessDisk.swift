import NIOCore

@testable import HaulCore
@testable import HaulKit

/// The disk as seen by one process of a life. It ends with the process, in the middle of an operation if `endsBefore`
/// says so.
///
/// `@unchecked Sendable` for the same reason as `World`.
final class ProcessDisk: Disk, @unchecked Sendable {
    private let disk: SimulatedDisk
    private let world: World
    private var files: [ObjectIdentifier: WeakFile] = [:]
    private(set) var isDead = false
    private(set) var operations = 0
    /// Called before each modifying operation with its number and path; `true` ends the process there.
    var endsBefore: (_ operation: Int, _ path: String) -> Bool = { _, _ in false }
    /// Called with the new name of each renamed file.
    var onRename: (_ target: String) -> Void = { _ in }

    private struct WeakFile { weak var file: File? }

    init(_ disk: SimulatedDisk, _ world: World) {
        self.disk = disk
        self.world = world
    }

    /// Ends the process: releases its locks and lets all further operations fail.
    func end() {
        isDead = true
        for file in files.values { file.file?.file.unlock() }
        files = [:]
    }

    private func change<Value>(_ call: String, _ path: String, _ body: () throws(DiskError) -> Value) throws(DiskError)
        -> Value
    {
        try look(path)
        operations += 1
        if endsBefore(operations, path) { end() }
        try look(path)
        world.note(Int64(operations))
        do throws(DiskError) {
            let value = try body()
            world.trace("    \(call) \(path)")
            return value
        } catch {
            world.trace("    \(call) \(path): \(error.kind)")
            throw error
        }
    }

    private func look(_ path: String) throws(DiskError) {
        if isDead { throw DiskError(.inputOutput, call: "killed", path: path) }
    }

    // MARK: Disk

    var bootID: String { disk.bootID }

    func create(_ path: String) throws(DiskError) -> any DiskFile {
        keep(try change("create", path) { () throws(DiskError) in try disk.create(path) })
    }

    func open(_ path: String) throws(DiskError) -> any DiskFile {
        try look(path)
        return keep(try disk.open(path))
    }

    func openForReading(_ path: String) throws(DiskError) -> any DiskFile {
        try look(path)
        return keep(try disk.openForReading(path))
    }

    private func keep(_ file: any DiskFile) -> any DiskFile {
        let file = File(self, file)
        files = files.filter { $0.value.file != nil }
        files[ObjectIdentifier(file)] = WeakFile(file: file)
        return file
    }

    func status(_ path: String) throws(DiskError) -> FileStatus? {
        try look(path)
        return try disk.status(path)
    }

    func rename(_ path: String, to target: String, replacing: Bool) throws(DiskError) {
        try change("rename to \(target):", path) { () throws(DiskError) in
            try disk.rename(path, to: target, replacing: replacing)
        }
        onRename(target)
    }

    func remove(_ path: String) throws(DiskError) {
        try change("remove", path) { () throws(DiskError) in try disk.remove(path) }
    }

    func syncFolder(_ path: String) throws(DiskError) {
        try change("sync of the folder", path) { () throws(DiskError) in try disk.syncFolder(path) }
    }

    func createFolder(_ path: String) throws(DiskError) { try look(path) }

    func freeSpace(at path: String) throws(DiskError) -> VolumeSpace? {
        try look(path)
        return try disk.freeSpace(at: path)
    }

    private final class File: DiskFile {
        let disk: ProcessDisk
        let file: any DiskFile

        init(_ disk: ProcessDisk, _ file: any DiskFile) {
            self.disk = disk
            self.file = file
        }

        var path: String { file.path }

        func write(_ buffers: [ByteBuffer], at offset: Int64) throws(DiskError) {
            let count = buffers.reduce(0) { $0 + $1.readableBytes }
            try disk.change("write of \(offset)-\(offset + Int64(count)) to", path) { () throws(DiskError) in
                try file.write(buffers, at: offset)
            }
        }

        func read(at offset: Int64, count: Int) throws(DiskError) -> [UInt8] {
            try disk.look(path)
            return try file.read(at: offset, count: count)
        }

        func sync() throws(DiskError) {
            try disk.change("sync of", path) { () throws(DiskError) in try file.sync() }
        }

        func preallocate(_ length: Int64) throws(DiskError) {
            try disk.change("preallocate", path) { () throws(DiskError) in try file.preallocate(length) }
        }

        func truncate(_ length: Int64) throws(DiskError) {
            try disk.change("truncate to \(length) of", path) { () throws(DiskError) in try file.truncate(length) }
        }

        func setModificationTime(_ nanoseconds: Int64) throws(DiskError) {
            try disk.change("time of", path) { () throws(DiskError) in
                try file.setModificationTime(nanoseconds)
            }
        }

        func status() throws(DiskError) -> FileStatus {
            try disk.look(path)
            return try file.status()
        }

        func lock() throws(DiskError) -> Bool {
            try disk.look(path)
            return try file.lock()
        }

        func unlock() { file.unlock() }
    }
}
