internal import Foundation

/// A receipt of an earlier sync (``SetReport`` as JSON), only for comparing a folder with it. The listed files have no
/// URLs and cannot be fetched.
package struct SetReceiptSource: SetSource {
    private let path: String

    package init(_ path: String) { self.path = path }

    /// Whether a file begins with `{`. A receipt does, because it is a JSON object; a list of digests never does.
    /// `false` for a file that cannot be read.
    package static func isReceipt(_ path: String) -> Bool {
        guard let file = try? PosixFile.reading(path), let first = try? file.read(at: 0, count: 1) else { return false }
        return first == Array("{".utf8)
    }

    package func list(_ documents: SetDocuments) async throws(DownloadError) -> FileSet {
        let report: SetReport
        let bytes = try await SetFile.read(path)
        do { report = try JSONDecoder().decode(SetReport.self, from: Data(bytes)) } catch {
            throw DownloadError(.invalidSet, "\(path) is no receipt of a sync.", cause: "\(error)")
        }
        var set = FileSet(
            files: [],
            origin: report.source,
            revision: report.revision,
            signedBy: report.signedBy
        )
        do throws(DownloadError) { set.files = try report.files.map(Self.file) } catch {
            throw DownloadError(.invalidSet, "\(path) is no receipt of a sync.", cause: error.message)
        }
        set.refused = report.faults.map { RefusedName($0.name, "It was not in the set that the receipt is of.") }
        return set
    }

    private static func file(_ file: SetReport.File) throws(DownloadError) -> FileSet.File {
        let checksum = try file.checksum.map { text throws(DownloadError) in try DownloadRequest.Checksum(text) }
        return FileSet.File(name: file.name, url: .nowhere, size: file.size, checksum: checksum)
    }
}
