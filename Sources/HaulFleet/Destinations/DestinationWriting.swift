/// Where finished files go. ``FolderDestination`` and ``S3Destination`` are the two.
///
/// A file is complete, verified and synced in the staging folder when it comes here. The worker calls, in this order:
/// ``prepare(_:recordUpload:)`` for each file, asks the queue whether it still holds the leases (the gate), and ``publish(_:)``
/// for those that it does.
protocol DestinationWriting: Sendable {
    /// What a person reads: `/mnt/data` or `s3://bucket/prefix`.
    var description: String { get }
    /// Folder on this machine in which the worker completes files. On the file system of the destination where that is a folder.
    var stagingFolder: String { get }
    /// Finds out at the start of a worker whether the destination can be used: rights, and what the file system or the store
    /// offers.
    func check() async throws(FleetError)
    /// Everything that can be done before the final name appears: folders, or the parts of a multipart upload.
    /// `recordUpload` must return true before the first part is sent.
    func prepare(
        _ file: StagedFile,
        recordUpload: @Sendable (String) async throws(FleetError) -> Bool
    ) async throws(FleetError) -> PreparedFile
    /// What ``prepare(_:recordUpload:)`` would return, where that takes no time; nil where it may.
    func preparedAtOnce(_ file: StagedFile) -> Result<PreparedFile, FleetError>?
    /// Gives files their final names, durably, without replacing anything. One outcome for each.
    func publish(_ files: [PreparedFile]) async -> [LeaseKey: PublicationOutcome]
    /// Aborts uploads that no worker continues. Returns those that are gone.
    func abort(_ uploads: [OrphanUpload]) async -> [OrphanUpload]
}

extension DestinationWriting {
    func preparedAtOnce(_ file: StagedFile) -> Result<PreparedFile, FleetError>? { nil }
}

struct StagedFile: Sendable, Hashable {
    var key: LeaseKey
    /// Path on this machine.
    var stagedPath: String
    /// Path below the destination, as the list has it.
    var path: String
    var bytes: Int64
    /// SHA-256 of the content, 32 bytes.
    var sha256: [UInt8]
    /// Multipart upload that an earlier lease of the item began.
    var uploadID: String?
}

struct PreparedFile: Sendable, Hashable {
    var file: StagedFile
    /// The upload whose parts are all at the store.
    var upload: Upload?

    struct Upload: Sendable, Hashable {
        var id: String
        var parts: [Part]
    }

    struct Part: Sendable, Hashable {
        var number: Int
        var tag: String
        /// Base64 of the part's SHA-256, if the store keeps part checksums.
        var sha256: String?
    }
}

enum PublicationOutcome: Sendable, Hashable {
    /// The file has its name, now or since an earlier attempt, with exactly these bytes. The tag is the object's entity tag.
    case published(tag: String?)
    /// Something else has the name.
    case conflict(String)
    /// Not now, for a reason that concerns this file or, where the error blames no file, the whole destination.
    case failed(FleetError)
}
