@testable import HaulFleet

/// A folder or an S3 store that outlives every worker. No object is replaced or removed.
struct SimulatedDestination {
    struct Object: Equatable {
        var version: Int
        var by: LeaseKey
    }

    enum UploadState { case open, completed, aborted }

    struct Upload {
        var item: Int
        var version: Int
        var state = UploadState.open
    }

    let isStore: Bool
    private(set) var objects: [Int: Object] = [:]
    private(set) var uploads: [String: Upload] = [:]
    /// Number of objects that were replaced. It stays 0.
    private(set) var replacements = 0
    var isDown = false

    init(isStore: Bool) { self.isStore = isStore }

    private static let down = FleetError(.destinationUnreachable, "The destination does not answer.")

    mutating func createUpload(_ item: Int, version: Int) -> String? {
        guard !isDown else { return nil }
        let id = "upload-\(uploads.count + 1)"
        uploads[id] = Upload(item: item, version: version)
        return id
    }

    /// Returns whether the parts of an earlier upload are of this version.
    func canResume(_ id: String, _ item: Int, version: Int) -> Bool {
        uploads[id].map { $0.state == .open && $0.item == item && $0.version == version } ?? false
    }

    mutating func publish(_ file: PreparedFile, version: Int) -> PublicationOutcome {
        let item = Int(file.file.key.item)
        // A store may be unreachable, or answer with an error that may blame the file.
        guard !isDown else { return .failed(isStore && item % 2 == 0 ? Self.down : Self.down.blamingNoFile()) }
        if let object = objects[item] {
            return object.version == version ? .published(tag: nil) : .conflict("Another file has the name.")
        }
        if let upload = file.upload {
            guard uploads[upload.id]?.state == .open, uploads[upload.id]?.version == version else {
                return .failed(FleetError(.destinationUnreachable, "The upload is gone."))
            }
            uploads[upload.id]?.state = .completed
        }
        objects[item] = Object(version: version, by: file.file.key)
        return .published(tag: isStore ? "tag" : nil)
    }

    mutating func abort(_ id: String) -> Bool {
        guard !isDown else { return false }
        if uploads[id]?.state == .open { uploads[id]?.state = .aborted }
        return true
    }
}
