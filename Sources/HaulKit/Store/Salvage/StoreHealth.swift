internal import Foundation
internal import GRDB
internal import Synchronization

/// Whether the file of an open store can be relied on: that it is still there under its name, and no damaged page was met.
final class StoreHealth: Sendable {
    let path: String
    /// The file that was opened; nil where the database is in memory.
    private let opened: FileStatus?
    private let bootID: String
    private let damage = Mutex<DownloadError?>(nil)
    private let isGone = Mutex(false)
    private let onFailure: @Sendable (DownloadError) -> Void

    /// Of a store in memory.
    init() {
        (path, opened, bootID) = (":memory:", nil, "")
        onFailure = { _ in }
    }

    /// Of a store that was just opened.
    ///
    /// - Parameters:
    ///   - isIntact: it was found intact, which is noted beside it.
    ///   - onFailure: told why the store cannot be relied on any more, each time that this begins.
    init(
        _ path: String,
        bootID: String,
        isIntact: Bool,
        _ onFailure: @escaping @Sendable (DownloadError) -> Void
    ) throws(DiskError) {
        self.onFailure = onFailure
        opened = try PosixDisk().status(path)
        (self.path, self.bootID) = (path, bootID)
        if isIntact { leaveMark() }
    }

    /// Why the store cannot be relied on; nil as long as it can be.
    var failure: DownloadError? {
        if let damage = damage.withLock({ $0 }) { return damage }
        do throws(DownloadError) {
            try checkIsThere()
            return nil
        } catch { return error }
    }

    /// - Throws: when the file is not there under its name any more. SQLite would go on writing into a file that nobody finds.
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
        if begins { onFailure(error) }
        throw error
    }

    /// The error that a caller is told. What says that the store is damaged stays known.
    func error(_ error: any Error) -> DownloadError {
        let told = StoreFile.error(error, path)
        guard StoreFile.isDamaged(error) else { return told }
        let isFirst = damage.withLock { damage in
            defer { damage = damage ?? told }
            return damage == nil
        }
        // The next start looks the store through.
        if isFirst {
            removeMark()
            onFailure(told)
        }
        return told
    }

    // MARK: The mark

    static func markPath(_ path: String) -> String { path + ".checked" }

    /// What was noted when the store was last intact; nil when nothing was.
    static func mark(of path: String) -> StoreMark? {
        // Without it the store is looked through.
        guard let file = try? PosixFile.reading(markPath(path)), let bytes = try? file.read(at: 0, count: 512) else {
            return nil
        }
        return StoreMark(text: String(decoding: bytes, as: UTF8.self))
    }

    /// Notes that the store's file is intact as it is now.
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
            // Without it the next start takes longer, and nothing else.
            removeMark()
        }
    }

    private func removeMark() {
        do throws(DiskError) { try PosixDisk().remove(Self.markPath(path)) } catch {
            // It is not there, or the disk refuses everything: a mark that says nothing true is none.
        }
    }
}
