import Crypto
import Foundation

@testable import HaulFleet

/// Creates files as the engine leaves them in a staging folder.
enum StagedFiles {
    static func make(
        _ item: Int64,
        _ path: String,
        _ content: some DataProtocol,
        in folder: String,
        epoch: Int32 = 1
    ) throws -> StagedFile {
        let staged = "\(folder)/\(item)-\(epoch)"
        try Data(content).write(to: URL(fileURLWithPath: staged))
        return StagedFile(
            key: LeaseKey(item: item, epoch: epoch),
            stagedPath: staged,
            path: path,
            bytes: Int64(content.count),
            sha256: Array(SHA256.hash(data: content))
        )
    }

    static func make(_ item: Int64, _ path: String, _ text: String, in folder: String) throws -> StagedFile {
        try make(item, path, Data(text.utf8), in: folder)
    }
}

extension PublicationOutcome {
    var isPublished: Bool {
        if case .published = self { true } else { false }
    }

    var conflict: String? {
        if case .conflict(let text) = self { text } else { nil }
    }

    var error: FleetError? {
        switch self {
        case .failed(let error): error
        case .published, .conflict: nil
        }
    }
}

extension DestinationWriting {
    /// Prepares and publishes one file for which the queue has no upload.
    func store(_ file: StagedFile) async throws -> PublicationOutcome? {
        let prepared = try await prepare(file) { _ in true }
        return await publish([prepared])[file.key]
    }
}
