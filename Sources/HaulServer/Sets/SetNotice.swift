internal import HaulKit
internal import Logging

/// The end of a set, for the log and for the event `notice`.
struct SetNotice: Encodable, Sendable {
    /// Codes of notices. The page has a text for each code in each of its languages.
    enum Code: String, Encodable, Sendable, CaseIterable { case setWhole, setIncomplete, setFailed }

    let level: String
    let code: Code
    /// The English text.
    let text: String
    let set: SetRow

    init(_ row: SetRow) {
        set = row.brief
        switch row.state {
        case .whole:
            code = .setWhole
            let files = row.files == 1 ? "1 file" : "\(row.files) files"
            text =
                "Set \(row.name): whole, "
                + (row.proved == row.files ? "\(files) proved." : "\(files), \(row.proved) proved.")
        case .incomplete:
            code = .setIncomplete
            text = "Set \(row.name): \(row.failed) of \(row.files) files missing, wrong or refused."
        case .failed, .listing, .running:
            code = .setFailed
            text = "Set \(row.name): \(row.error?.message ?? "It failed.")"
        }
        level = code == .setWhole ? "notice" : "error"
    }

    func log(to logger: Logger) {
        logger.log(
            level: code == .setWhole ? .notice : .warning,
            "\(text)",
            metadata: [
                "code": .string(code.rawValue), "set": .string(set.id.description), "group": .string(set.group),
                "source": .string(set.source), "folder": .string(set.folder),
            ]
        )
    }
}
