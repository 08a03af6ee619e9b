internal import Foundation

/// The folder that a worker keeps on its machine: the store of its downloads, and which worker it was. Locked for as long as the
/// process lives, so that a worker that is started again finds the folder of the one that ended, and knows that it has ended.
package final class WorkFolder: Sendable {
    package let path: String
    /// Never the same for two folders: part of the worker's label and of its staging folder.
    package let id: String
    private let lock: Int32

    private struct Identity: Codable {
        var id: String
        var queue: String?
        var worker: WorkerID?
    }

    /// Largest number of workers of one user on one machine.
    private static let mostFolders = 512

    /// Opens the first folder below `base` that no process uses, `1`, `2` and so on; makes it where there is none.
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

    /// The worker that used this folder last with this queue, which has ended, since its lock is free.
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

    /// - Returns: nil where another process has it.
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

    /// - Returns: nil where there is none, or none that can be read: the leases of that worker then wait for their end.
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
