internal import Foundation
internal import GRDB
internal import Synchronization

/// Watches whether an open store can record changes: its file still has its name, no damaged page was found, and its
/// disk has space.
final class StoreHealth: Sendable {
    let path: String
    /// The file that was opened; `nil` where the database is in memory.
    private let opened: FileStatus?
    private let bootID: String
    private let damage = Mutex<DownloadError?>(nil)
    private let isGone = Mutex(false)
    private let space = Mutex(Space())
    private let onChange: @Sendable (DownloadError?) -> Void

    private struct Space {
        /// Error of the write that found no space; `nil` while the disk has space.
        var failure: DownloadError?
        var onFull: (@Sendable () -> Void)?
    }

    /// Free bytes that a full disk must have again before the store counts as writable. They last for thousands of
    /// rows, so that downloads do not stop and continue in turn on a nearly full disk.
    private static let leastFreeSpace: Int64 = 1 << 20

    /// Creates the health of a store in memory.
    init() {
        (path, opened, bootID) = (":memory:", nil, "")
        onChange = { _ in }
    }

    /// Creates the health of a store that was just opened.
    ///
    /// - Parameters:
    ///   - isIntact: whether the store was found intact. If so, leaves a mark beside it.
    ///   - onChange: called with the reason each time the store becomes unreliable, and with `nil` when a store whose
    ///     disk was full can be written again.
    init(
        _ path: String,
        bootID: String,
        isIntact: Bool,
        _ onChange: @escaping @Sendable (DownloadError?) -> Void
    ) throws(DiskError) {
        self.onChange = onChange
        opened = try PosixDisk().status(path)
        (self.path, self.bootID) = (path, bootID)
        if isIntact { leaveMark() }
    }

    /// Reason why the store is unreliable; `nil` while it is reliable.
    var failure: DownloadError? {
        if let damage = damage.withLock({ $0 }) { return damage }
        do throws(DownloadError) {
            try checkIsThere()
            return lackOfSpace
        } catch { return error }
    }

    /// - Throws: if the file no longer has its name. SQLite would go on writing into a file that nobody finds.
    func checkIsThere() throws(DownloadError) {
        guard let opened else { return }
        let present: FileStatus?
        do throws(DiskError) { present = try PosixDisk().status(path) } catch {
            throw DownloadError(.storeFailed, "The store \(path) cannot be reached. \(error.sentence)")
        }
        if let present, present.isSameFile(as: opened) {
            isGone.withLock { $0 = false }
            return
        }
        let error = DownloadError(
            .storeFailed,
            """
            The store \(path) was \(present == nil ? "deleted or moved away" : "replaced by another file") while it was open: \
            nothing more can be recorded. Put it back, or end Haul and start it again.
            """
        )
        let begins = isGone.withLock { isGone in
            defer { isGone = true }
            return !isGone
        }
        if begins { onChange(error) }
        throw error
    }

    /// Converts an error for the caller. Remembers damage and a lack of space.
    func error(_ error: any Error) -> DownloadError {
        let told = StoreError.converted(error, at: path)
        if told.code == .diskFull { noteLackOfSpace(told) }
        guard StoreError.isDamaged(error) else { return told }
        let isFirst = damage.withLock { damage in
            defer { damage = damage ?? told }
            return damage == nil
        }
        // Without the mark, the next start checks the store.
        if isFirst {
            removeMark()
            onChange(told)
        }
        return told
    }

    // MARK: Space

    /// Error of the last write that found no space; `nil` while the disk of the store has space.
    var lackOfSpace: DownloadError? { space.withLock { $0.failure } }

    /// Sets the function to call each time that the disk of the store becomes full.
    func whenFull(_ call: @escaping @Sendable () -> Void) { space.withLock { $0.onFull = call } }

    func noteLackOfSpace(_ error: DownloadError) {
        let (isFirst, onFull) = space.withLock { space in
            defer { space.failure = space.failure ?? error }
            return (space.failure == nil, space.onFull)
        }
        guard isFirst else { return }
        onChange(error)
        onFull?()
    }

    /// Ends the lack of space after a successful write, unless the disk is still nearly full.
    func noteWritten() {
        guard lackOfSpace != nil else { return }
        if opened != nil {
            // A file system that does not report its space counts as having some: the write has succeeded.
            let space = try? PosixDisk().freeSpace(at: FilePaths.folder(of: path))
            if let space, space.free < Self.leastFreeSpace { return }
        }
        space.withLock { $0.failure = nil }
        onChange(nil)
    }

    // MARK: The mark

    static func markPath(_ path: String) -> String { path + ".checked" }

    /// Returns the mark of the store when it was last intact; `nil` if there is none.
    static func mark(of path: String) -> StoreMark? {
        // Without the mark, the store is checked.
        guard let file = try? PosixFile.reading(markPath(path)), let bytes = try? file.read(at: 0, count: 512) else {
            return nil
        }
        return StoreMark(text: String(decoding: bytes, as: UTF8.self))
    }

    /// Writes the mark, which says that the store's file is intact as it is now. Does nothing if the store is
    /// unreliable.
    func leaveMark() {
        guard opened != nil, failure == nil else { return }
        do {
            let mark = try SystemCalls.mark(path, bootID: bootID)
            let file = try PosixFile(
                Self.markPath(path),
                flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW,
                mode: 0o600
            )
            try SystemCalls.writeAll(file.descriptor, Array(mark.text.utf8))
        } catch {
            // Without the mark, the next start only takes longer.
            removeMark()
        }
    }

    private func removeMark() {
        do throws(DiskError) { try PosixDisk().remove(Self.markPath(path)) } catch {
            // The mark does not exist, or the disk refuses every change. A mark that does not match the file has no
            // effect.
        }
    }
}
