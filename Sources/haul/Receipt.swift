import Foundation
import HaulKit

/// The receipt of a sync, as a file.
struct Receipt {
    private let report: SetReport
    private let folder: String

    init(_ report: SetReport, in folder: String) { (self.report, self.folder) = (report, folder) }

    /// Writes the receipt. Replaces an earlier file and keeps its permissions, but writes into a device or a pipe.
    ///
    /// - Throws: ``Complaint`` for a file in the folder of the set that is no receipt, and for a path that cannot be
    ///   written.
    func write(to path: String) throws {
        guard !isOfSet(path) else {
            throw Complaint(
                "The receipt is not written: \(path) is a file of the set or of its state, or another file in its folder.",
                .usage
            )
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do {
            let data = try encoder.encode(report) + Data("\n".utf8)
            let files = FileManager.default
            // `nil` for a new file, which has no type and no permissions to keep.
            let present = try? files.attributesOfItem(atPath: (path as NSString).resolvingSymlinksInPath)
            if let kind = present?[.type] as? FileAttributeType, kind != .typeRegular, kind != .typeDirectory {
                let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
                try handle.write(contentsOf: data)
                return try handle.close()
            }
            try data.write(to: URL(fileURLWithPath: path), options: .atomic)
            if let permissions = present?[.posixPermissions] {
                try files.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
            }
        } catch {
            throw Complaint("The receipt cannot be written to \(path): \(error.localizedDescription)", .disk)
        }
    }

    /// - Returns: `false` also for a file that cannot be read.
    private func isReceipt(_ path: String) -> Bool {
        guard let data = FileManager.default.contents(atPath: path) else { return false }
        do { _ = try JSONDecoder().decode(SetReport.self, from: data) } catch { return false }
        return true
    }

    private func isOfSet(_ path: String) -> Bool {
        func real(_ path: String) -> String {
            let url = URL(fileURLWithPath: path)
            // Resolves links in the folder's path only: the write replaces a file that is itself a link.
            let parent = url.deletingLastPathComponent().resolvingSymlinksInPath().path
            return FilePaths.join(parent, url.lastPathComponent)
        }
        let (root, path) = (URL(fileURLWithPath: folder).resolvingSymlinksInPath().path + "/", real(path))
        guard path.hasPrefix(root) else { return false }
        let name = String(path.dropFirst(root.count))
        // Protects files of the set that this sync did not select, and the user's own files in the folder.
        if FileManager.default.fileExists(atPath: path), !isReceipt(path) { return true }
        return !PlacedSet.isPath(name) || report.files.contains { $0.name == name }
            || report.faults.contains { $0.name == name }
    }
}
