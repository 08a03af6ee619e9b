import Dispatch
import Foundation
import Synchronization

/// Reads a descriptor on a thread that may block.
struct ListSource: Sendable {
    static let pieceLength = 1 << 18
    /// Interval between checks for cancellation while a pipe or a terminal has no data.
    private static let pollMilliseconds: Int32 = 200

    let descriptor: Int32
    let name: String

    /// Returns the next bytes; `nil` at the end.
    func read() async throws(FleetError) -> [UInt8]? {
        let isCancelled = CancellationMark()
        let result: Result<[UInt8]?, FleetError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    continuation.resume(returning: readNow(isCancelled))
                }
            }
        } onCancel: {
            isCancelled.set()
        }
        return try result.get()
    }

    private final class CancellationMark: Sendable {
        private let value = Atomic<Bool>(false)
        var isSet: Bool { value.load(ordering: .relaxed) }
        func set() { value.store(true, ordering: .relaxed) }
    }

    private func readNow(_ mark: CancellationMark) -> Result<[UInt8]?, FleetError> {
        while true {
            guard !mark.isSet else {
                return .failure(FleetError(.cancelled, "The reading of \(name) was cancelled."))
            }
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = poll(&entry, 1, Self.pollMilliseconds)
            if ready == 0 || (ready < 0 && errno == EINTR) { continue }
            guard ready > 0, entry.revents & Int16(POLLNVAL) == 0 else {
                return .failure(unreadable(ready < 0 ? errno : EBADF))
            }
            var code: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: Self.pieceLength) { buffer, count in
                let result = Foundation.read(descriptor, buffer.baseAddress, buffer.count)
                code = result < 0 ? errno : 0
                count = max(0, result)
            }
            if code == EINTR || code == EAGAIN { continue }
            guard code == 0 else { return .failure(unreadable(code)) }
            return .success(bytes.isEmpty ? nil : bytes)
        }
    }

    private func unreadable(_ code: Int32) -> FleetError {
        FleetError(.invalidInput, "\(name) cannot be read: \(String(cString: strerror(code))).")
    }
}
