internal import Foundation
internal import Synchronization

/// The lock on the name of a store: exclusive, or shared among those that restore on request.
///
/// The kernel does not say who has a lock. This process knows its own, so that whoever finds the name locked can tell a
/// downloader that is just being released from another process.
final class NameLock: Sendable {
    private struct Identity: Hashable {
        let device: UInt64
        let inode: UInt64
    }
    /// How many locks of this process each file has.
    private static let held = Mutex<[Identity: Int]>([:])

    private let file: PosixFile
    private let identity: Identity
    private let isCounted = Mutex(false)

    init(_ path: String) throws(DiskError) {
        file = try PosixFile(path, flags: O_RDWR | O_CREAT, mode: 0o600)
        let status = try file.status()
        identity = Identity(device: status.device, inode: status.inode)
    }

    deinit { unlock() }

    /// Takes the lock, or changes it; false when somebody else has it.
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
