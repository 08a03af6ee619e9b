internal import Foundation
internal import Synchronization

/// One user of a store, and how the others find out whether it is still there.
///
/// The number of a process says little: after a reboot, or in another container, it is any process's. So each user of a
/// store holds a lock on one byte of a file beside it. The byte's place is the user's number; the kernel gives the lock up
/// when the process ends, however it does.
final class StoreOwner: Sendable {
    /// Never twice the same. The lower half is the number of the process, for people to read.
    let number: Int64
    /// Nil where there is no other user, or the file system has no such locks.
    private let file: PosixFile?
    /// Knows the others, where they are simulated.
    private let knowsAlive: (@Sendable (Int64) -> Bool)?
    private let knowsOthers: (@Sendable () -> Bool)?
    /// Whether another user was there when this one came. What this one reads of that one's downloads may be outdated for good.
    private let hadCompany: Bool

    /// Of a store that no other process can see.
    init() {
        number = Self.draw()
        file = nil
        knowsAlive = nil
        knowsOthers = { false }
        hadCompany = false
    }

    /// With what is known of the others handed in.
    init(
        number: Int64,
        isAlive: @escaping @Sendable (Int64) -> Bool,
        hasMetOthers: @escaping @Sendable () -> Bool
    ) {
        self.number = number
        file = nil
        knowsAlive = isAlive
        knowsOthers = hasMetOthers
        hadCompany = false
    }

    /// - Parameter path: the file of locks.
    init(_ path: String) throws(DiskError) {
        let file = try PosixFile(path, flags: O_RDWR | O_CREAT, mode: 0o600)
        knowsAlive = nil
        knowsOthers = nil
        while true {
            let number = Self.draw()
            do {
                guard try SystemCalls.lock(file.descriptor, byte: number) else { continue }
                (self.number, self.file) = (number, file)
            } catch {
                (self.number, self.file) = (number, nil)
            }
            do { hadCompany = try SystemCalls.isAnyByteLocked(file.descriptor) } catch { hadCompany = true }
            leaveNumber(in: file)
            return
        }
    }

    private static func draw() -> Int64 {
        // Not 0 above: a number that is only a process's is one of an earlier version.
        let chance = Int64.random(in: 1...Int64(Int32.max))
        return chance << 32 | Int64(ProcessInfo.processInfo.processIdentifier)
    }

    /// The number of the process that is, or was, a user of the store.
    static func process(_ number: Int64) -> Int32 { Int32(truncatingIfNeeded: number) }

    /// Whether another user of the store is still there.
    func isAlive(_ number: Int64) -> Bool {
        if number == self.number { return true }
        if let knowsAlive { return knowsAlive(number) }
        guard number > Int64(UInt32.max) else { return false }
        guard let file else { return SystemCalls.isRunning(process: Self.process(number)) }
        do {
            return try SystemCalls.isLocked(file.descriptor, byte: number)
        } catch {
            // The lock of a partial file decides in the end; who waits for one that is gone would wait for good.
            return false
        }
    }

    /// Whether the store has another user, or has had one since this one came; true where nobody can tell. Two system calls.
    var hasMetOthers: Bool {
        if let knowsOthers { return knowsOthers() }
        if hadCompany { return true }
        guard let file else { return true }
        do {
            if try SystemCalls.isAnyByteLocked(file.descriptor) { return true }
            // The latest user left its number here.
            return try withUnsafeTemporaryAllocation(byteCount: 8, alignment: 8) { bytes in
                let count = try SystemCalls.read(file.descriptor, into: UnsafeMutableRawBufferPointer(bytes), at: 0)
                return count == 8 && bytes.load(as: Int64.self) != number
            }
        } catch {
            return true
        }
    }

    /// Leaves the number for users that came earlier. Where the disk takes nothing, they know of this one while it is there.
    private func leaveNumber(in file: PosixFile) {
        withUnsafeBytes(of: number) { bytes in
            // Without it a file may come twice, and no byte is lost.
            _ = try? SystemCalls.write(file.descriptor, bytes, at: 0)
        }
    }

    /// From here on this user does not count as alive, also where something still holds the store.
    func leave() {
        if let file { SystemCalls.unlock(file.descriptor, byte: number) }
    }
}
