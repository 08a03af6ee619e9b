internal import Foundation
internal import HaulKit

/// Publishes files of the staging folder under their final names. Runs on a thread that may block.
///
/// The files of a batch form groups; a group ends when ``mostFolders`` folders are open. All files of a group get their
/// names first; then each folder is synced once. The first sync also writes most of the data that the later syncs wait
/// for.
struct FolderBatch {
    /// Number of open folders, without the root, at which a group ends.
    static let mostFolders = 256

    enum Method: Sendable {
        /// Adds the final name as a hard link and keeps the staged name.
        case link
        /// Renames the staged file, on file systems without hard links.
        case rename
    }

    let staging: String
    let method: Method
    private let tree: FolderTree
    private let stagingDescriptor: Int32
    private var outcomes: [LeaseKey: PublicationOutcome] = [:]
    /// Files that have got their final names since the last sync, each with its folder.
    private var named: [(LeaseKey, FolderTree.Folder)] = []

    /// - Throws: ``FleetError`` if either folder cannot be opened. No file is touched then.
    private init(root: String, staging: String, _ method: Method, _ durable: DurableFolders) throws(FleetError) {
        (self.staging, self.method) = (staging, method)
        tree = try FolderTree(root, durable)
        do throws(SystemCalls.Errno) { stagingDescriptor = try SystemCalls.openFolder(staging) } catch {
            throw FolderFailure.error(error, "open", staging)
        }
    }

    static func publish(
        _ files: [StagedFile],
        root: String,
        staging: String,
        _ method: Method,
        _ durable: DurableFolders
    ) -> [LeaseKey: PublicationOutcome] {
        do throws(FleetError) {
            var batch = try FolderBatch(root: root, staging: staging, method, durable)
            defer { SystemCalls.close(batch.stagingDescriptor) }
            batch.publish(files)
            return batch.outcomes
        } catch {
            let outcome = PublicationOutcome.failed(error.blamingNoFile())
            return Dictionary(files.map { ($0.key, outcome) }) { first, _ in first }
        }
    }

    private mutating func publish(_ files: [StagedFile]) {
        outcomes.reserveCapacity(files.count)
        var paths: [(file: StagedFile, path: RelativePath)] = []
        paths.reserveCapacity(files.count)
        for file in files {
            do throws(FleetError) { paths.append((file, try RelativePath(file.path))) } catch {
                outcomes[file.key] = .failed(error)
            }
        }
        // Sorting by folder opens and syncs each folder once, even if the batch has more folders than may be open.
        paths.sort { $0.path.parent < $1.path.parent }
        for (file, path) in paths {
            do throws(FleetError) {
                let folder = try tree.folder(path.parent)
                try name(file, path, in: folder)
            } catch {
                outcomes[file.key] = .failed(error)
            }
            if tree.count >= Self.mostFolders { finishGroup() }
        }
        finishGroup()
    }

    /// Gives one file its final name, or finds that the file already has it.
    private mutating func name(
        _ file: StagedFile,
        _ path: RelativePath,
        in folder: FolderTree.Folder
    ) throws(FleetError) {
        let staged = stagedName(file)
        let entry: SystemCalls.Entry?
        do throws(SystemCalls.Errno) { entry = try SystemCalls.entry(staged, in: stagingDescriptor) } catch {
            // An earlier attempt may have renamed the file without a report.
            guard error.code == ENOENT else { throw FolderFailure.error(error, "stat", file.stagedPath) }
            entry = nil
        }
        if let entry {
            guard entry.kind == .file, entry.size == file.bytes else {
                throw FleetError(
                    .disk,
                    "The staged file \(file.stagedPath) was changed: it has \(entry.size) bytes instead of \(file.bytes)."
                )
            }
            do throws(SystemCalls.Errno) {
                switch method {
                case .link: try SystemCalls.addLink(staged, in: stagingDescriptor, to: path.name, in: folder.descriptor)
                case .rename:
                    try SystemCalls.renameWithoutReplacing(
                        staged,
                        in: stagingDescriptor,
                        to: path.name,
                        in: folder.descriptor
                    )
                }
                return added(file, to: folder)
            } catch  where error.code != EEXIST {
                throw FolderFailure.error(error, method == .link ? "link" : "rename", file.path)
            } catch {}
        }
        if let conflict = try ExistingFile(path.name, in: folder).conflict(with: file, staged: entry) {
            outcomes[file.key] = .conflict(conflict)
        } else {
            added(file, to: folder)
        }
    }

    /// Marks the folder for a sync. Also called for a file that already existed, because the process that named the
    /// file may have ended before it synced the folder.
    private mutating func added(_ file: StagedFile, to folder: FolderTree.Folder) {
        folder.hasNewNames = true
        named.append((file.key, folder))
    }

    private mutating func finishGroup() {
        tree.sync()
        for (key, folder) in named { outcomes[key] = folder.failure.map { .failed($0) } ?? .published(tag: nil) }
        named.removeAll(keepingCapacity: true)
        tree.close()
    }

    /// Returns the path below the open staging folder; a path elsewhere stays unchanged.
    private func stagedName(_ file: StagedFile) -> String {
        let path = file.stagedPath
        guard path.utf8.starts(with: staging.utf8) else { return path }
        let rest = path.utf8.dropFirst(staging.utf8.count)
        guard rest.first == UInt8(ascii: "/") else { return path }
        return String(rest.drop { $0 == UInt8(ascii: "/") }) ?? path
    }
}
