internal import Foundation
internal import Synchronization

/// One user of a store. The other users can find out whether it is still alive.
///
/// A process number does not identify a process after a reboot or in another container. So each user holds a lock on
/// one byte of a file beside the store. The offset of the byte is the user's number. The kernel releases the lock when
/// the process ends, for whatever reason.
final class StoreOwner: Sendable {
    /// Unique number of this user. The lower half is the process number, for people to read.
    let number: Int64
    /// `nil` if no other process sees the store, or if the file system has no such locks.
    private let file: PosixFile?
    /// Answer in place of the file if the other users are simulated; else `nil`.
    private let knowsAlive: (@Sendable (Int64) -> Bool)?
    private let knowsOthers: (@Sendable () -> Bool)?
    /// Whether another user existed when this one opened the store. Records that this user has read may then be
    /// outdated, even after the other user has left.
    private let hadCompany: Bool

    /// Creates the user of a store that no other process can see.
    init() {
        number = Self.draw()
        file = nil
        knowsAlive = nil
        knowsOthers = { false }
        hadCompany = false
    }

    /// Creates a user whose knowledge of the other users is passed in.
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

    /// - Parameter path: path of the file whose bytes are locked.
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
        // Draws at least 1 for the upper half of the user's number. Earlier versions stored a process number alone, so
        // `isAlive(_:)` recognizes their numbers by an upper half of 0.
        let chance = Int64.random(in: 1...Int64(Int32.max))
        return chance << 32 | Int64(ProcessInfo.processInfo.processIdentifier)
    }

    /// Returns the process number of a present or earlier user of the store.
    static func process(_ number: Int64) -> Int32 { Int32(truncatingIfNeeded: number) }

    /// Whether the user with this number is still there.
    func isAlive(_ number: Int64) -> Bool {
        if number == self.number { return true }
        if let knowsAlive { return knowsAlive(number) }
        guard number > Int64(UInt32.max) else { return false }
        guard let file else { return SystemCalls.isRunning(process: Self.process(number)) }
        do {
            return try SystemCalls.isLocked(file.descriptor, byte: number)
        } catch {
            // Counts as gone, because waiting for such a user would never end. The lock of the partial file decides in
            // the end.
            return false
        }
    }

    /// Whether the store has another user, or has had one since this one opened it; `true` if that is unknown. Costs
    /// two system calls.
    var hasMetOthers: Bool {
        if let knowsOthers { return knowsOthers() }
        if hadCompany { return true }
        guard let file else { return true }
        do {
            if try SystemCalls.isAnyByteLocked(file.descriptor) { return true }
            // The file holds the number of the latest user.
            return try withUnsafeTemporaryAllocation(byteCount: 8, alignment: 8) { bytes in
                let count = try SystemCalls.read(file.descriptor, into: UnsafeMutableRawBufferPointer(bytes), at: 0)
                return count == 8 && bytes.load(as: Int64.self) != number
            }
        } catch {
            return true
        }
    }

    /// Leaves the number in the file, so that users who opened the store earlier learn of this one even after it has
    /// left; see ``hasMetOthers``. If the write fails, they notice this user only while it holds its lock.
    private func leaveNumber(in file: PosixFile) {
        withUnsafeBytes(of: number) { bytes in
            // Without the number, a file may be downloaded twice, but no byte is lost.
            _ = try? SystemCalls.write(file.descriptor, bytes, at: 0)
        }
    }

    /// Releases the lock: this user no longer counts as alive, even while something still references the store.
    func leave() {
        if let file { SystemCalls.unlock(file.descriptor, byte: number) }
    }
}
