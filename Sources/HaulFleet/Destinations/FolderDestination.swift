internal import Foundation
internal import HaulKit

/// Publishes files in a folder of this machine or of a network file system that many machines share.
///
/// Completes files in `.haul-fleet/WORKER` below the root, on the same file system. Gives them their final names with
/// link(2), or with a rename on a file system without hard links. Neither replaces an existing file. Runs all file
/// system calls on threads that may block, and changes to such a thread only once per batch.
struct FolderDestination: DestinationWriting {
    let root: String
    let stagingFolder: String
    private let worker: String
    private let link: FolderProbe.Link
    private let durable = DurableFolders()
    private let state: State

    var description: String { root }
    var isFolder: Bool { true }

    /// Keeps the method that the first successful probe found.
    private actor State {
        var method: FolderBatch.Method?

        func set(_ method: FolderBatch.Method) { self.method = method }
    }

    /// - Parameters:
    ///   - root: path of an existing folder.
    ///   - worker: name of the worker's staging folder; unique among the workers that share the root.
    ///   - link: makes a hard link, to find out whether the file system supports hard links.
    /// - Throws: ``FleetError/Code/invalidInput`` if `worker` cannot be the name of a folder.
    init(root: String, worker: String, link: @escaping FolderProbe.Link = FolderProbe.systemLink) throws(FleetError) {
        guard !worker.hasPrefix("."), try RelativePath(worker).parent.isEmpty else {
            throw FleetError(.invalidInput, "\(RelativePath.quoted(worker)) cannot be the name of a staging folder.")
        }
        let absolute: String
        do throws(DownloadError) { absolute = try FilePaths.absolute(root) } catch {
            throw FleetError(.invalidInput, error.message)
        }
        self.root = absolute
        self.worker = worker
        self.link = link
        stagingFolder = FilePaths.join(FilePaths.join(absolute, RelativePath.reserved), worker)
        state = State()
    }

    func check() async throws(FleetError) { _ = try await method() }

    func prepare(
        _ file: StagedFile,
        recordUpload: @Sendable (String) async throws(FleetError) -> Bool
    ) async throws(FleetError) -> PreparedFile { try prepare(file) }

    func preparedAtOnce(_ file: StagedFile) -> Result<PreparedFile, FleetError>? {
        Result { () throws(FleetError) in try prepare(file) }
    }

    private func prepare(_ file: StagedFile) throws(FleetError) -> PreparedFile {
        _ = try RelativePath(file.path)
        return PreparedFile(file: file)
    }

    func publish(_ files: [PreparedFile]) async -> [LeaseKey: PublicationOutcome] {
        guard !files.isEmpty else { return [:] }
        let files = files.map(\.file)
        do throws(FleetError) {
            let method = try await method()
            return await BlockingExecutor.system.run { [root, stagingFolder, durable] in
                FolderBatch.publish(files, root: root, staging: stagingFolder, method, durable)
            }
        } catch {
            let outcome = PublicationOutcome.failed(error.blamingNoFile())
            return Dictionary(files.map { ($0.key, outcome) }) { first, _ in first }
        }
    }

    /// Returns all `uploads`, because a folder has none. The queue then forgets the uploads of an earlier S3
    /// destination.
    func abort(_ uploads: [OrphanUpload]) async -> [OrphanUpload] { uploads }

    private func method() async throws(FleetError) -> FolderBatch.Method {
        if let method = await state.method { return method }
        let method = try await BlockingExecutor.system.run { [root, worker, link, durable] () throws(FleetError) in
            let method = try FolderProbe.run(root: root, worker: worker, link: link)
            // Records the identity of the root. ``FolderTree`` later refuses another folder at the same path.
            _ = try FolderTree(root, durable)
            return method
        }
        await state.set(method)
        return method
    }
}
