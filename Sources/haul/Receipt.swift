import Foundation
import HaulKit

/// The receipt of a sync, as a file.
struct Receipt {
    private let report: SetReport
    private let folder: String

    init(_ report: SetReport, in folder: String) { (self.report, self.folder) = (report, folder) }

    /// Writes the receipt. Replaces an earlier receipt and keeps its permissions, but writes into a device or a pipe.
    /// If `path` is a symbolic link, writes the file to which it leads.
    ///
    /// - Throws: ``Complaint`` for a file that is no receipt, for a file of the set, for a pipe that nobody reads, and
    ///   for a path that cannot be written.
    func write(to path: String) throws {
        let target = Self.target(of: path)
        guard !isOfSet(path), !isOfSet(target) else {
            throw Complaint(
                "The receipt is not written: \(path) is a file of the set or of its state, or another file in its folder.",
                .usage
            )
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        var status = stat()
        let isThere = stat(target, &status) == 0
        let kind = isThere ? status.st_mode & S_IFMT : S_IFREG
        if isThere, kind == S_IFREG, status.st_size > 0, !isReceipt(target) {
            throw Complaint("The receipt is not written: \(path) is another file. Name another one.", .usage)
        }
        do {
            let data = try encoder.encode(report) + Data("\n".utf8)
            if kind != S_IFREG, kind != S_IFDIR { return try Self.write(data, intoSpecialFile: target) }
            try data.write(to: URL(fileURLWithPath: target), options: .atomic)
            if isThere {
                let permissions = Int(status.st_mode & 0o7777)
                try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: target)
            }
        } catch let complaint as Complaint { throw complaint } catch {
            throw Complaint("The receipt cannot be written to \(path): \(error.localizedDescription)", .disk)
        }
    }

    /// Writes into a device or a pipe.
    private static func write(_ data: Data, intoSpecialFile path: String) throws {
        // Does not wait for a reader of a pipe, because signals would not end that wait.
        let file = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else {
            let reason = errno == ENXIO ? "Nobody reads this pipe" : String(cString: strerror(errno))
            throw Complaint("The receipt cannot be written to \(path): \(reason).", .disk)
        }
        let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
        _ = fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK)
        try handle.write(contentsOf: data)
        try handle.close()
    }

    /// Returns the path to which symbolic links in the last component of `path` lead.
    private static func target(of path: String) -> String {
        var path = path
        // Linux follows at most 40 links in one path.
        for _ in 0..<40 {
            // Fails for a path that is no link, which is the usual end.
            guard let link = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { return path }
            path = link.hasPrefix("/") ? link : FilePaths.join(FilePaths.folder(of: path), link)
        }
        return path
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
            // Resolves only the links in the folder's path, because `write(to:)` checks both a link and its target.
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
