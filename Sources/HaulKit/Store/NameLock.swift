internal import Foundation
internal import Synchronization

/// File lock on the name of a store: exclusive, or shared among downloaders that restore on request. Also the exclusive
/// lock on the folder of a set.
///
/// The kernel does not say who holds a lock, so this type counts the locks of this process. If the name is locked, the
/// count tells whether a downloader of this process, perhaps just being released, or another process has the lock.
final class NameLock: Sendable {
    private struct Identity: Hashable {
        let device: UInt64
        let inode: UInt64
    }
    /// Number of locks that this process holds on each file.
    private static let held = Mutex<[Identity: Int]>([:])

    private let file: PosixFile
    private let identity: Identity
    private let isCounted = Mutex(false)

    /// - Parameter followsLinks: whether the file may be behind a symbolic link.
    init(_ path: String, followsLinks: Bool = true) throws(DiskError) {
        file = try PosixFile(path, flags: O_RDWR | O_CREAT | (followsLinks ? 0 : O_NOFOLLOW), mode: 0o600)
        let status = try file.status()
        identity = Identity(device: status.device, inode: status.inode)
    }

    deinit { unlock() }

    /// Takes the lock or changes its mode. Returns `false` if somebody else has the lock.
    func take(isExclusive: Bool) throws(DiskError) -> Bool {
        guard try isExclusive ? file.lock() : file.lockShared() else { return false }
        let isNew = isCounted.withLock { isCounted in
            defer { isCounted = true }
            return !isCounted
        }
        if isNew { Self.held.withLock { $0[identity, default: 0] += 1 } }
        return true
    }

    /// Whether a downloader of this process has the name.
    var isHeldHere: Bool { Self.held.withLock { $0[identity] != nil } }

    func unlock() {
        file.unlock()
        let wasCounted = isCounted.withLock { isCounted in
            defer { isCounted = false }
            return isCounted
        }
        guard wasCounted else { return }
        Self.held.withLock { held in
            let rest = (held[identity] ?? 1) - 1
            held[identity] = rest > 0 ? rest : nil
        }
    }
}
