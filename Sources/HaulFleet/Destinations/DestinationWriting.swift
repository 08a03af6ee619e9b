/// Publishes finished files at a destination. ``FolderDestination`` and ``S3Destination`` implement it.
///
/// Each file is complete, verified and synced in the staging folder. The worker first calls
/// ``prepare(_:recordUpload:)`` for each file. Then the worker asks the queue which of the leases are still its own
/// (the gate), and calls ``publish(_:)`` for the files of these leases.
protocol DestinationWriting: Sendable {
    /// Names the destination to people, for example `/mnt/data` or `s3://bucket/prefix`.
    var description: String { get }
    /// Folder on this machine in which the worker completes files. If the destination is a folder, both are on one file
    /// system.
    var stagingFolder: String { get }
    /// Whether the destination is a folder, in which workers find the partial files of each other.
    var isFolder: Bool { get }
    /// Checks when a worker starts that the destination is usable: rights, and the abilities of the file system or the
    /// store.
    func check() async throws(FleetError)
    /// Does all work before the final name appears: checks the path, or sends the parts of a multipart upload.
    ///
    /// - Parameter recordUpload: records a new multipart upload in the queue. Parts may be sent only if the function
    ///   returns `true`; `false` means that the worker has lost the lease.
    func prepare(
        _ file: StagedFile,
        recordUpload: @Sendable (String) async throws(FleetError) -> Bool
    ) async throws(FleetError) -> PreparedFile
    /// Returns the result of ``prepare(_:recordUpload:)`` if the preparation takes no time; `nil` if it may take time.
    func preparedAtOnce(_ file: StagedFile) -> Result<PreparedFile, FleetError>?
    /// Gives files their final names, durably, without replacing anything. Returns one outcome for each file.
    func publish(_ files: [PreparedFile]) async -> [LeaseKey: PublicationOutcome]
    /// Aborts uploads that no worker continues. Returns the uploads that no longer exist.
    func abort(_ uploads: [OrphanUpload]) async -> [OrphanUpload]
    /// Called after each registration of the worker.
    ///
    /// - Parameter mayPublish: whether the worker's leases hold now. May be called from any thread.
    func registered(as worker: WorkerID, mayPublish: @escaping @Sendable () -> Bool)
    /// Removes what dead workers have left at the destination. Called regularly.
    func maintain() async
}

extension DestinationWriting {
    var isFolder: Bool { false }
    func preparedAtOnce(_ file: StagedFile) -> Result<PreparedFile, FleetError>? { nil }
    func registered(as worker: WorkerID, mayPublish: @escaping @Sendable () -> Bool) {}
    func maintain() async {}
}

struct StagedFile: Sendable, Hashable {
    var key: LeaseKey
    /// Path on this machine.
    var stagedPath: String
    /// Path below the destination, exactly as in the list.
    var path: String
    var bytes: Int64
    /// SHA-256 of the content, 32 bytes.
    var sha256: [UInt8]
    /// Multipart upload that an earlier lease of the item began; `nil` if there is none.
    var uploadID: String?
    /// The URL of the item. Together with ``metadata``, it goes into a shard beside the file.
    var url = ""
    /// Data from the list; `nil` if the list has none.
    var metadata: String?
    /// The entity tag or date of the file at its server; `nil` if it had none.
    var validator: String?

    /// - Parameter tag: entity tag of the object in an S3-compatible store; `nil` for a folder.
    func completed(tag: String?) -> CompletedFile {
        CompletedFile(bytes: bytes, sha256: sha256, tag: tag, validator: validator)
    }
}

struct PreparedFile: Sendable, Hashable {
    var file: StagedFile
    /// The multipart upload, whose parts are all at the store; `nil` if publication needs none.
    var upload: Upload?

    struct Upload: Sendable, Hashable {
        var id: String
        var parts: [Part]
    }

    struct Part: Sendable, Hashable {
        var number: Int
        var tag: String
        /// Base64 of the part's SHA-256; `nil` if the store keeps no part checksums.
        var sha256: String?
    }
}

enum PublicationOutcome: Sendable, Hashable {
    /// The file has its final name, now or since an earlier attempt, with exactly these bytes. `tag` is the object's
    /// entity tag.
    case published(tag: String?)
    /// Something else has the final name.
    case conflict(String)
    /// The file was not published. If ``FleetError/blamesNoFile`` is `true`, this file is not the cause.
    case failed(FleetError)
}
