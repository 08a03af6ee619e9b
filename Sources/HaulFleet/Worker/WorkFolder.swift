internal import Foundation

/// The folder of a worker on its machine. Holds the store of its downloads and the worker's number. The process locks
/// the folder while it lives. A restarted worker finds the folder of its predecessor. The free lock shows that the
/// predecessor has ended.
package final class WorkFolder: Sendable {
    package let path: String
    /// Unique among all work folders. Part of the worker's label and of its staging folder's name.
    package let id: String
    private let lock: Int32

    private struct Identity: Codable {
        var id: String
        var queue: String?
        var worker: WorkerID?
    }

    /// Maximum number of work folders below one base folder.
    private static let mostFolders = 512

    /// Opens the first folder `1`, `2`, … below `base` that no process uses. Makes the folder if it is missing.
    package init(below base: String) throws(FleetError) {
        for number in 1...Self.mostFolders {
            let path = base + "/\(number)"
            try Self.makeFolder(path)
            guard let lock = try Self.lock(path + "/lock") else { continue }
            (self.path, self.lock) = (path, lock)
            let known = Self.read(path)
            id = known?.id ?? Self.newID()
            if known == nil { try write(Identity(id: id)) }
            return
        }
        throw FleetError(.disk, "All \(Self.mostFolders) work folders in \(base) are in use.")
    }

    deinit { close(lock) }

    /// Returns the last worker that used this folder; `nil` if there is none or its queue was another one. That worker
    /// has ended, because this process got the lock.
    func predecessor(queue: String) -> WorkerID? {
        guard let known = Self.read(path), known.queue == queue else { return nil }
        return known.worker
    }

    func keep(worker: WorkerID, queue: String) throws(FleetError) {
        try write(Identity(id: id, queue: queue, worker: worker))
    }

    // MARK: Files

    private static func newID() -> String { String(UInt64.random(in: .min ... .max), radix: 36) }

    private static func makeFolder(_ path: String) throws(FleetError) {
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch { throw FleetError(.disk, "The work folder \(path) cannot be made: \(FileReason.text(error)).") }
    }

    /// Returns the locked descriptor; `nil` if another process holds the lock.
    private static func lock(_ path: String) throws(FleetError) -> Int32? {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FleetError(.disk, "\(path) cannot be opened: \(reason(errno)).") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return descriptor }
        let code = errno
        close(descriptor)
        guard code == EWOULDBLOCK else { throw FleetError(.disk, "\(path) cannot be locked: \(reason(code)).") }
        return nil
    }

    private static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }

    /// Returns `nil` if the file is missing or unreadable. The leases of its worker then expire.
    private static func read(_ path: String) -> Identity? {
        guard let data = FileManager.default.contents(atPath: path + "/worker.json") else { return nil }
        return try? JSONDecoder().decode(Identity.self, from: data)
    }

    private func write(_ identity: Identity) throws(FleetError) {
        let file = URL(fileURLWithPath: path + "/worker.json")
        do { try JSONEncoder().encode(identity).write(to: file, options: .atomic) } catch {
            throw FleetError(.disk, "\(file.path) cannot be written: \(FileReason.text(error)).")
        }
    }
}
