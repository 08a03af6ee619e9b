import Foundation
import HaulKit

/// Allows one daemon for each state folder, by a lock on a file that names the daemon. The lock ends with the process,
/// however the process ends.
struct DaemonLock {
    /// The entries of the lock file by which commands and a second daemon find the daemon.
    struct Endpoint: Codable {
        var process: Int32
        var socket: String?
        var page: String?
    }

    private let descriptor: Int32
    private let path: String

    static func path(_ folder: String) -> String { folder + "/lock" }

    /// - Throws: ``Complaint`` if the folder cannot be used, or if a daemon has the lock. The sentence then names that
    ///   daemon.
    init(folder: String) throws {
        do {
            try FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch { throw Complaint("The state folder \(folder) cannot be made: \(error.localizedDescription)", .disk) }
        path = Self.path(folder)
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw Complaint("The lock \(path) cannot be opened: \(String(cString: strerror(errno)))", .disk)
        }
        guard Self.takesLock(descriptor) else {
            let other = Self.endpoint(folder)
            let name = other.map { "process \($0.process)\($0.page.map { ", \($0)" } ?? "")" } ?? "another process"
            throw Complaint("A daemon is running already with the state folder \(folder): \(name).", .inUse)
        }
    }

    /// Takes the exclusive lock. Tries for 100 ms, because ``isHeld(_:)`` of a command takes the lock for a moment.
    private static func takesLock(_ descriptor: Int32) -> Bool {
        for _ in 0..<10 {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
            usleep(10_000)
        }
        return false
    }

    func write(_ endpoint: Endpoint) throws {
        let data = try JSONEncoder().encode(endpoint)
        guard ftruncate(descriptor, 0) == 0,
            data.withUnsafeBytes({ pwrite(descriptor, $0.baseAddress, $0.count, 0) }) == data.count
        else { throw Complaint("The lock \(path) cannot be written: \(String(cString: strerror(errno)))", .disk) }
    }

    /// Whether a daemon uses a state folder at present.
    static func isHeld(_ folder: String) -> Bool {
        let descriptor = open(path(folder), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // Closing the descriptor drops the lock, if this call got it.
        return flock(descriptor, LOCK_SH | LOCK_NB) != 0
    }

    /// Returns the entries that the last daemon of a state folder wrote, or `nil` if there are none.
    static func endpoint(_ folder: String) -> Endpoint? {
        guard let data = FileManager.default.contents(atPath: path(folder)) else { return nil }
        // A daemon that is just starting has written nothing yet.
        return try? JSONDecoder().decode(Endpoint.self, from: data)
    }
}
