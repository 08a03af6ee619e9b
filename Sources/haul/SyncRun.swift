import Foundation
import HaulKit

/// Runs one `haul sync` and sums up what the folder holds.
struct SyncRun {
    private let session: CommandSession
    private let options: SetCommandOptions
    private let isQuiet: Bool
    private let isJSON: Bool
    private let active: Int

    init(_ session: CommandSession, _ options: SetCommandOptions, isQuiet: Bool, isJSON: Bool, active: Int) {
        (self.session, self.options, self.isQuiet, self.isJSON) = (session, options, isQuiet, isJSON)
        self.active = active
    }

    func sync(_ source: any SetSource, _ settings: SetOptions) async throws -> ExitStatus {
        let work = try await session.downloader.prepareSync(source, into: options.directory, settings)
        for remark in work.remarks { session.display.noted(remark) }
        // Shows the faults found so far. The display shows the fault of a download when the download ends.
        if !isJSON { Self.show(work.faults) }
        let run = GetRun(session.downloader, session.display, active: active) { await work.ended($0, $1) }
        let status = await run.finish(Wanted(work.requests))
        let report = try await work.finish()
        if !isJSON { Self.show(work.lateFaults) }
        try await finish(report)
        // An interruption takes precedence over the faults of the report.
        return status == .interrupted ? status : Self.status(report)
    }

    func compare(_ source: any SetSource, _ settings: SetOptions) async throws -> ExitStatus {
        let report = try await session.downloader.compare(options.directory, with: source, options: settings)
        for remark in report.remarks { session.display.noted(remark) }
        if !isJSON { Self.show(report.faults) }
        try await finish(report)
        return Self.status(report)
    }

    /// - Returns: the status of the first fault by name. A wrong digest or a missing file takes precedence over all
    ///   other faults.
    private static func status(_ report: SetReport) -> ExitStatus {
        if report.isWhole { return .complete }
        if report.faults.contains(where: { $0.error.code == .checksumMismatch || $0.error.code == .notFound }) {
            return .checksum
        }
        return report.faults.first.map { ExitStatus($0.error) } ?? .complete
    }

    private func finish(_ report: SetReport) async throws {
        session.display.close()
        if isJSON {
            SetReportLines(report).print()
        } else if !isQuiet {
            for text in SetSummary(report, folder: options.directory, isComparison: options.check).lines {
                Output.note(text)
            }
        }
        if let receipt = options.receipt { try Receipt(report, in: options.directory).write(to: receipt) }
    }

    private static func show(_ faults: [SetReport.Fault]) {
        for fault in faults { Output.error("\(fault.name): \(fault.error.message)") }
    }
}
