internal import Foundation
internal import HaulKit

/// Checks whether a folder can be a destination. Makes the staging folder and tests in it the file operations that
/// publishing needs.
enum FolderProbe {
    /// Makes a hard link: ``systemLink`` except in tests.
    typealias Link = @Sendable (String, Int32, String, Int32) throws(SystemCalls.Errno) -> Void

    static let systemLink: Link = { name, folder, newName, newFolder throws(SystemCalls.Errno) in
        try SystemCalls.addLink(name, in: folder, to: newName, in: newFolder)
    }

    /// Makes the staging folder and returns the method to publish files.
    ///
    /// - Throws: ``FleetError`` if the folder is unusable, or if publishing might replace other files.
    static func run(root: String, worker: String, link: Link) throws(FleetError) -> FolderBatch.Method {
        var descriptors: [Int32] = []
        defer { for descriptor in descriptors { SystemCalls.close(descriptor) } }
        func open(_ path: String, _ call: () throws(SystemCalls.Errno) -> Int32) throws(FleetError) -> Int32 {
            do throws(SystemCalls.Errno) {
                let descriptor = try call()
                descriptors.append(descriptor)
                return descriptor
            } catch  where error.code == ENOENT {
                throw FleetError(
                    .destinationRefused,
                    "The folder \(RelativePath.quoted(path)) does not exist. Create it."
                )
            } catch  where error.code == ENOTDIR {
                throw FleetError(.destinationRefused, "\(RelativePath.quoted(path)) is not a folder.")
            } catch {
                throw FolderFailure.error(error, "open", path)
            }
        }
        let rootFolder = try open(root) { () throws(SystemCalls.Errno) in try SystemCalls.openFolder(root) }
        let reserved = FilePaths.join(root, RelativePath.reserved)
        let reservedFolder = try open(reserved) { () throws(SystemCalls.Errno) in
            try ensure(RelativePath.reserved, in: rootFolder)
        }
        let path = FilePaths.join(reserved, worker)
        let staging = try open(path) { () throws(SystemCalls.Errno) in try ensure(worker, in: reservedFolder) }
        do throws(SystemCalls.Errno) {
            // The staging folder must survive a power loss, or its files are downloaded again.
            for descriptor in [rootFolder, reservedFolder] { try SystemCalls.syncAll(descriptor) }
        } catch { throw FolderFailure.error(error, "fsync", root) }
        return try tryNames(staging, path, link)
    }

    /// Makes a folder if it is missing, and opens it. Never follows a symbolic link.
    static func ensure(_ name: String, in folder: Int32) throws(SystemCalls.Errno) -> Int32 {
        do throws(SystemCalls.Errno) { try SystemCalls.makeFolder(name, in: folder) } catch {
            if error.code != EEXIST { throw error }
        }
        return try SystemCalls.openFolder(name, in: folder)
    }

    private static func tryNames(_ folder: Int32, _ path: String, _ link: Link) throws(FleetError) -> FolderBatch.Method
    {
        let name = "probe-\(UUID().uuidString)"
        let (second, third) = (name + "-2", name + "-3")
        defer { for name in [name, second, third] { remove(name, in: folder) } }
        do throws(SystemCalls.Errno) {
            for name in [name, third] {
                let file = try SystemCalls.createFile(name, in: folder)
                defer { SystemCalls.close(file) }
                try SystemCalls.writeAll(file, Array("haul".utf8))
                try SystemCalls.syncAll(file)
            }
        } catch { throw FolderFailure.error(error, "write", path) }
        do throws(SystemCalls.Errno) {
            try link(name, folder, second, folder)
            return .link
        } catch  where [EPERM, EOPNOTSUPP, ENOSYS, EMLINK, EINVAL].contains(error.code) {
        } catch { throw FolderFailure.error(error, "link", path) }
        do throws(SystemCalls.Errno) {
            try SystemCalls.renameWithoutReplacing(name, in: folder, to: second, in: folder)
        } catch { throw unsafe(path) }
        do throws(SystemCalls.Errno) {
            try SystemCalls.renameWithoutReplacing(second, in: folder, to: third, in: folder)
        } catch  where error.code == EEXIST {
            return .rename
        } catch {}
        throw unsafe(path)
    }

    private static func unsafe(_ path: String) -> FleetError {
        FleetError(
            .destinationRefused,
            "The file system of \(RelativePath.quoted(path)) can neither link files nor rename them without replacing others. "
                + "Choose a folder on another one."
        )
    }

    private static func remove(_ name: String, in folder: Int32) {
        do throws(SystemCalls.Errno) { try SystemCalls.removeFile(name, in: folder) } catch {
            // Some of the names do not exist, depending on the file system. A remaining probe file lies in the worker's
            // own staging folder, which the worker clears.
        }
    }
}
