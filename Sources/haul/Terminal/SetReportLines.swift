import Foundation
import HaulKit

/// The lines of `haul sync --json` after those of the downloads: one for each file that the folder holds, one for each
/// fault, and a last one that sums up the set.
struct SetReportLines {
    private let report: SetReport

    init(_ report: SetReport) { self.report = report }

    private struct FileLine: Encodable {
        let event: String
        let name: String
        var size: Int64?
        var checksum: String?
        var error: Failure?
    }

    private struct Failure: Encodable {
        let code: String
        let message: String
        var status: Int?
    }

    private struct SetLine: Encodable {
        let event = "set"
        let source: String
        let revision: String?
        let signedBy: String?
        let isWhole: Bool
        let files: Int
        let bytes: Int64
        let fetched: Int
        let unchanged: Int
        let failed: Int
        let proofs: [String: Int]
        let removed: [String]
        let kept: [String]
    }

    private struct FailureLine: Encodable {
        let event = "set"
        let source: String
        let isWhole = false
        let error: Failure
    }

    /// Prints the last line of a sync whose set could not be read.
    static func printFailure(_ error: DownloadError, of source: String) {
        let failure = Failure(code: error.code.rawValue, message: error.message, status: error.status)
        put(FailureLine(source: SetSourceText.shown(source), error: failure))
    }

    func print() {
        for file in report.files {
            // A file without a digest, or with MD5 alone, is present but not proved.
            Self.put(
                FileLine(
                    event: file.isProved ? "proved" : "present",
                    name: file.name,
                    size: file.size,
                    checksum: file.checksum
                )
            )
        }
        for fault in report.faults {
            let error = Failure(
                code: fault.error.code.rawValue,
                message: fault.error.message,
                status: fault.error.status
            )
            Self.put(FileLine(event: "fault", name: fault.name, error: error))
        }
        Self.put(
            SetLine(
                source: report.source,
                revision: report.revision,
                signedBy: report.signedBy,
                isWhole: report.isWhole,
                files: report.files.count,
                bytes: report.bytes,
                fetched: report.fetched,
                unchanged: report.unchanged,
                failed: report.faults.count,
                proofs: report.proofs,
                removed: report.removed,
                kept: report.kept
            )
        )
    }

    private static func put(_ line: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding cannot fail, because the line has only strings and numbers.
        guard let data = try? encoder.encode(line) else { return }
        Output.result(JSONDisplay.escapingControls(String(decoding: data, as: UTF8.self)))
    }
}
