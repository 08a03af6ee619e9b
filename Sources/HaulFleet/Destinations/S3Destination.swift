internal import HaulKit
internal import Logging

/// Publishes files in a bucket of an S3-compatible store.
///
/// A small object is sent when it is published. A large object is sent in parts during the preparation; its key appears
/// when the upload is completed. The request for a small object and the completion of an upload ask the store to refuse
/// a taken key (`If-None-Match: *`).
struct S3Destination: DestinationWriting {
    let stagingFolder: String
    let client: S3Client
    let logger: Logger
    let features = Features()

    var settings: S3Settings { client.settings }
    var description: String {
        "s3://\(settings.bucket)" + (settings.prefix.isEmpty ? "" : "/\(settings.prefix)")
    }

    /// Abilities of the store, as found out so far.
    actor Features {
        /// Whether the store refuses a taken key. Otherwise the worker looks at the key first, and two programs may
        /// still write one key at the same moment.
        private(set) var refusesTakenKeys = true
        private(set) var keepsChecksums = true

        func replacesTakenKeys() { refusesTakenKeys = false }
        func keepsNoChecksums() { keepsChecksums = false }
    }

    /// - Parameters:
    ///   - stagingFolder: an existing folder of this machine.
    ///   - credentials: the access keys that sign the requests.
    /// - Throws: ``FleetError/Code/invalidInput`` for impossible settings.
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

    /// Returns the key of a path. Unlike a file path, a key may have empty parts, dots, and slashes at both ends.
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

    /// The state of a key before or after publication.
    enum Standing: Sendable {
        case absent
        /// The same file, by size and digest.
        case same(tag: String?)
        case other(String)
    }

    func standing(_ file: StagedFile, _ key: String) async throws(S3Failure) -> Standing {
        guard let object = try await client.status(of: key) else { return .absent }
        let digest = file.sha256.hexadecimal
        // Takes a missing size as equal, because some proxies drop the Content-Length of a response without a body.
        if object.digest == digest, object.bytes ?? file.bytes == file.bytes { return .same(tag: object.tag) }
        return .other(
            "s3://\(settings.bucket)/\(RelativePath.quoted(key)) exists with \(object.bytes.map(String.init) ?? "unknown") bytes and "
                + (object.digest.map { "SHA-256 \(RelativePath.quoted($0))" } ?? "without a digest by Haul")
                + ", and was left as it is. The downloaded file has \(file.bytes) bytes with SHA-256 \(digest)."
        )
    }

    /// Waits before the next attempt. Returns at once if the task is cancelled.
    func pause(_ attempt: Int) async {
        let delay = settings.backoff(.full).delay(failures: attempt, fraction: .random(in: 0...1))
        // Ignores a cancellation, because a cancelled task fails in its next request.
        do { try await Task.sleep(for: delay) } catch {}
    }
}
