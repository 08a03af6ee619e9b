internal import Foundation

/// Reads the files that a sync is given by path: lists, receipts, signatures, key rings.
enum SetFile {
    /// - Throws: ``DownloadError`` with a disk code, or with code ``DownloadError/Code/invalidSet`` for a file of more
    ///   than ``SetDocuments/mostBytes``.
    static func read(_ path: String) async throws(DownloadError) -> [UInt8] {
        do throws(DiskError) {
            let bytes = try await runBlocking { () throws(DiskError) -> [UInt8]? in
                let file = try PosixFile.reading(path)
                var bytes: [UInt8] = []
                while true {
                    let part = try file.read(at: Int64(bytes.count), count: 1 << 20)
                    guard !part.isEmpty else { return bytes }
                    bytes += part
                    guard bytes.count <= SetDocuments.mostBytes else { return nil }
                }
            }
            if let bytes { return bytes }
        } catch { throw DownloadError(error) }
        throw DownloadError(.invalidSet, "\(path) is larger than \(SetDocuments.mostBytes >> 20) MiB.")
    }
}
