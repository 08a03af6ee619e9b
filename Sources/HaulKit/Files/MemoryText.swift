internal import CHaulSystem
internal import Foundation

/// Text in a file that has no name on any disk, for another program to read.
final class MemoryText: Sendable {
    private let descriptor: Int32

    init() throws(DiskError) {
        do throws(SystemCalls.Errno) { descriptor = try SystemCalls.openMemory() } catch {
            throw DiskError(errno: error.code, call: "memfd_create", path: Self.name)
        }
    }

    deinit { SystemCalls.close(descriptor) }

    private static let name = "a list in memory"

    /// Path at which a process of the same user can open the text while this value exists.
    var path: String { OpenFilePath.of(descriptor) }

    func append(_ text: [UInt8]) throws(DiskError) {
        do throws(SystemCalls.Errno) { try SystemCalls.writeAll(descriptor, text) } catch {
            throw DiskError(errno: error.code, call: "write", path: Self.name)
        }
    }
}

extension SystemCalls {
    /// Opens a file without a name in memory.
    fileprivate static func openMemory() throws(Errno) -> Int32 { try retrying { haul_open_memory() } }
}

/// Paths by which processes of the same user can open the open files of this process. They contain no part of a path
/// that the user chose.
enum OpenFilePath {
    /// Beginning of all these paths.
    static let folder = "/proc/\(ProcessInfo.processInfo.processIdentifier)/fd/"

    static func of(_ descriptor: Int32) -> String { folder + "\(descriptor)" }
}
