internal import Foundation
package import HaulKit

/// A set of the daemon, as JSON. Has no secrets: neither header fields nor the access token of a hub.
package struct SetRow: Codable, Hashable, Sendable {
    package enum State: String, Codable, Hashable, Sendable {
        /// The sync reads the list, and compares the folder with it.
        case listing
        /// The sync fetches files.
        case running
        /// The folder holds the set.
        case whole
        /// Files are missing, wrong or refused.
        case incomplete
        /// The list cannot be read, or the folder cannot be used.
        case failed

        package var isEnd: Bool {
            switch self {
            case .listing, .running: false
            case .whole, .incomplete, .failed: true
            }
        }
    }

    package struct Fault: Codable, Hashable, Sendable {
        package var name: String
        package var error: DownloadRow.Failure

        init(_ fault: SetReport.Fault) { (name, error) = (fault.name, DownloadRow.Failure(fault.error)) }

        init(_ refused: RefusedName) {
            name = refused.name
            error = DownloadRow.Failure(DownloadError(code: .invalidSet, message: refused.reason))
        }
    }

    package var id: DownloadID
    package var name: String
    package var state = State.listing
    /// The source without secrets; includes the commit once the list has been read.
    package var source: String
    /// Absolute path.
    package var folder: String
    package var group: String
    package var addedAt = Timestamp.text(Date())
    package var endedAt: String?
    /// Number of selected names, refused ones included.
    package var files = 0
    /// Number of files that were already present and correct.
    package var unchanged = 0
    /// Number of files that had to be fetched.
    package var wanted = 0
    /// Number of files that were fetched; 0 before the end.
    package var fetched = 0
    /// Number of all faults, including those that ``faults`` leaves out.
    package var failed = 0
    /// Length of all files that are present and correct, in bytes; 0 before the end.
    package var bytes: Int64 = 0
    /// As ``SetReport/proofs``. Empty before the end.
    package var proofs: [String: Int] = [:]
    package var removed = 0
    package var kept = 0
    package var signedBy: String?
    package var remarks: [String] = []
    /// The first 100 faults at most. They are sorted by name once the sync has returned its report.
    package var faults: [Fault] = []
    /// Reason why the set failed, or why the sync asks for the list again.
    package var error: DownloadRow.Failure?

    private static let mostFaults = 100
    private static let mostRemarks = 20

    init(id: DownloadID, name: String, source: String, folder: String, group: String) {
        (self.id, self.name, self.source, self.folder, self.group) = (id, name, source, folder, group)
    }

    /// Number of files whose digest proved them.
    package var proved: Int { proofs.reduce(0) { SetReport.proves($1.key) ? $0 + $1.value : $0 } }

    /// The row in a list: without its faults and remarks.
    var brief: SetRow {
        var row = self
        (row.faults, row.remarks) = ([], [])
        return row
    }

    mutating func begin(_ begun: BegunSync) {
        state = .running
        error = nil
        source = begun.source
        (unchanged, wanted) = (begun.sync.unchanged, begun.sync.wanted)
        files = unchanged + wanted + begun.faults.count
        take(begun.faults)
        remarks = Array(begun.remarks.prefix(Self.mostRemarks))
    }

    mutating func end(_ report: SetReport) {
        state = report.isWhole ? .whole : .incomplete
        endedAt = Timestamp.text(Date())
        source = report.source
        files = report.files.count + report.faults.count
        (unchanged, fetched, bytes, proofs) = (report.unchanged, report.fetched, report.bytes, report.proofs)
        (removed, kept) = (report.removed.count, report.kept.count)
        signedBy = report.signedBy
        take(report.faults)
        remarks = Array(report.remarks.prefix(Self.mostRemarks))
    }

    mutating func fail(_ failure: DownloadError) {
        state = .failed
        endedAt = Timestamp.text(Date())
        error = DownloadRow.Failure(failure)
    }

    private mutating func take(_ all: [SetReport.Fault]) {
        failed = all.count
        faults = all.prefix(Self.mostFaults).map(Fault.init)
    }
}
