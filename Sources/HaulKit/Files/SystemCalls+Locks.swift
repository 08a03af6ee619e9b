// Locks on files, and the check whether a file is open for writing.
internal import CHaulSystem
internal import Foundation

extension SystemCalls {
    static func lock(_ descriptor: Int32, shared: Bool = false) throws(Errno) -> Bool {
        do {
            _ = try retrying { shared ? haul_lock_shared(descriptor) : haul_lock_exclusive(descriptor) }
            return true
        } catch {
            guard error.code == EWOULDBLOCK else { throw error }
            return false
        }
    }

    static func unlock(_ descriptor: Int32) { _ = haul_unlock(descriptor) }

    /// Locks one byte while the file stays open. Returns `false` if another open file has locked it.
    static func lock(_ descriptor: Int32, byte: Int64) throws(Errno) -> Bool {
        do {
            _ = try retrying { haul_lock_byte(descriptor, byte) }
            return true
        } catch {
            guard error.code == EAGAIN || error.code == EACCES else { throw error }
            return false
        }
    }

    static func unlock(_ descriptor: Int32, byte: Int64) { _ = haul_unlock_byte(descriptor, byte) }

    /// Whether another open file has locked the byte at offset `byte`.
    static func isLocked(_ descriptor: Int32, byte: Int64) throws(Errno) -> Bool {
        try retrying { haul_is_byte_locked(descriptor, byte) } == 1
    }

    /// Whether another open file has any byte locked.
    static func isAnyByteLocked(_ descriptor: Int32) throws(Errno) -> Bool {
        try retrying { haul_is_any_byte_locked(descriptor) } == 1
    }

    /// Whether any process has a file open for writing; `nil` if the system does not report it.
    ///
    /// - Parameter descriptor: descriptor that is open only for reading.
    static func isOpenForWriting(_ descriptor: Int32) -> Bool? {
        switch haul_is_open_for_writing(descriptor) {
        case 0: false
        case 1: true
        default: nil
        }
    }
}
