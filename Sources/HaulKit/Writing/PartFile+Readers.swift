internal import Synchronization

/// Reading while bytes arrive.
extension PartFile {
    /// Returns when the byte at `position` is written, when the file starts over or is not of `version`, when the
    /// download releases the file, or when the task is cancelled.
    func wait(forByteAt position: Int64, of version: Int) async {
        let number = state.withLock { $0.waiters.nextNumber() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isWaiting = state.withLock { state in
                    guard !Task.isCancelled, state.version == version,
                        state.persisted.written.end(from: position) == position
                    else { return false }
                    return state.waiters.add(number, position, continuation)
                }
                if !isWaiting { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.remove(number) }.resume()
        }
    }

    /// Reads up to `count` bytes from `offset` on that were written as part of `version`. Runs beside the writes.
    ///
    /// - Returns: `nil` if the first byte is missing, or belongs to another version.
    func read(at offset: Int64, count: Int, of version: Int) async throws(DiskError) -> [UInt8]? {
        let end = state.withLock { $0.version == version ? $0.persisted.written.end(from: offset) : offset }
        guard end > offset else { return nil }
        let count = Int(min(Int64(count), end - offset))
        let bytes = try await executor.run { [file] () throws(DiskError) in try file.read(at: offset, count: count) }
        // The file may have been started over, or bytes may have been found wrong, during the read.
        let isCurrent = state.withLock { state in
            state.version == version && state.persisted.written.containsAll(of: offset..<offset + Int64(bytes.count))
        }
        return isCurrent && !bytes.isEmpty ? bytes : nil
    }

    /// Whether the download has released the file.
    var isReleased: Bool { state.withLock { $0.waiters.isClosed } }

    /// Wakes all readers, because the download releases the file.
    func releaseReaders() { state.withLock { $0.waiters.close() }.resume() }
}
