internal import Crypto
internal import Foundation
internal import HaulKit

/// Computes the SHA-256 of a small file that is read as a whole. Blocks the thread.
enum SmallFileDigest {
    /// - Parameter bytes: expected length of the file.
    static func of(_ path: String, _ bytes: Int64) -> Result<[UInt8], FleetError> {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return .failure(error("opened", path)) }
        defer { close(descriptor) }
        // Asks for one extra byte, to detect a file that has grown.
        var content = [UInt8](repeating: 0, count: Int(clamping: bytes) + 1)
        var count = 0
        while count < content.count {
            let part = content[count...].withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if part < 0, errno == EINTR { continue }
            guard part >= 0 else { return .failure(error("read", path)) }
            if part == 0 { break }
            count += part
        }
        guard count == bytes else {
            return .failure(FleetError(.disk, "\(path) has another length than when it was complete."))
        }
        return .success(Array(SHA256.hash(data: content[..<count])))
    }

    private static func error(_ what: String, _ path: String) -> FleetError {
        FleetError(.disk, "\(path) cannot be \(what): \(String(cString: strerror(errno))).")
    }
}

/// Small files that wait for their digest. Files that arrive during the work on a group form the next group, so that
/// each group needs one thread change.
struct HashQueue {
    private var waiting: [(lease: LeasedItem, file: CompletedDownload)] = []
    private var isHashing = false

    /// - Returns: whether the caller has to work on the groups. `false` while another caller does.
    mutating func append(_ lease: LeasedItem, _ file: CompletedDownload) -> Bool {
        waiting.append((lease, file))
        guard !isHashing else { return false }
        isHashing = true
        return true
    }

    /// Returns the next group. Ends the work if no file waits.
    mutating func nextGroup() -> [(lease: LeasedItem, file: CompletedDownload)]? {
        guard !waiting.isEmpty else {
            isHashing = false
            return nil
        }
        defer { waiting = [] }
        return waiting
    }
}
