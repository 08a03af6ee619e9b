internal import HaulKit
internal import Logging

/// A bucket of an S3-compatible store.
///
/// Small objects are sent when they are published, large ones in parts before: their name appears when the upload is completed. Both
/// ask the store to refuse a key that is taken (`If-None-Match: *`).
struct S3Destination: DestinationWriting {
    let stagingFolder: String
    let client: S3Client
    let logger: Logger
    let features = Features()

    var settings: S3Settings { client.settings }
    var description: String {
        "s3://\(settings.bucket)" + (settings.prefix.isEmpty ? "" : "/\(settings.prefix)")
    }

    /// What the store has turned out to do.
    actor Features {
        /// Refuses a taken key by itself; otherwise it is asked before, which leaves a moment in which two may write one key.
        private(set) var refusesTakenKeys = true
        private(set) var keepsChecksums = true

        func replacesTakenKeys() { refusesTakenKeys = false }
        func keepsNoChecksums() { keepsChecksums = false }
    }

    /// - Parameters:
    ///   - stagingFolder: an existing folder of this machine.
    ///   - credentials: nil: those of the environment and what it refers to.
    /// - Throws: ``FleetError/Code/invalidInput`` for settings that cannot be.
    init(
        _ settings: S3Settings,
        stagingFolder: String,
        credentials: S3CredentialCache,
        logger: Logger
    ) throws(FleetError) {
        self.stagingFolder = stagingFolder
        self.logger = logger
        client = try S3Client(settings, credentials: credentials, logger: logger)
    }

    /// The key of a path. A key may hold what a path of files may not: empty parts, dots, slashes at either end.
    func key(_ path: String) throws(FleetError) -> String {
        let key = settings.prefix.isEmpty ? path : "\(settings.prefix)/\(path)"
        guard !path.isEmpty else { throw FleetError(.invalidInput, "A path is empty.") }
        guard key.utf8.count <= 1024 else {
            throw FleetError(.invalidInput, "The key \(RelativePath.quoted(key)) has more than 1,024 bytes.")
        }
        guard !key.utf8.contains(0) else {
            throw FleetError(.invalidInput, "The path \(RelativePath.quoted(path)) holds a NUL character.")
        }
        return key
    }

    func metadata(_ file: StagedFile) -> [(String, String)] {
        [(S3Client.digestField, file.sha256.hexadecimal), (S3Client.itemField, "\(file.key.item)")]
    }

    /// What a key has that should be there or not.
    enum Standing: Sendable {
        case absent
        /// The file, by size and digest.
        case same(tag: String?)
        case other(String)
    }

    func standing(_ file: StagedFile, _ key: String) async throws(S3Failure) -> Standing {
        guard let object = try await client.status(of: key) else { return .absent }
        let digest = file.sha256.hexadecimal
        // Not every proxy hands on the length that an answer without a body states.
        if object.digest == digest, object.bytes ?? file.bytes == file.bytes { return .same(tag: object.tag) }
        return .other(
            "s3://\(settings.bucket)/\(RelativePath.quoted(key)) exists with \(object.bytes.map(String.init) ?? "unknown") bytes and "
                + (object.digest.map { "SHA-256 \(RelativePath.quoted($0))" } ?? "without a digest by Haul")
                + ", and was left as it is. The downloaded file has \(file.bytes) bytes with SHA-256 \(digest)."
        )
    }

    /// Waits before a further attempt; returns at once when the task is cancelled.
    func pause(_ attempt: Int) async {
        let delay = RetryDelay.random(settings.retryDelay, attempt: attempt, longest: settings.longestRetryDelay)
        // A cancelled task finds out in its next request.
        do { try await Task.sleep(for: delay) } catch {}
    }
}
