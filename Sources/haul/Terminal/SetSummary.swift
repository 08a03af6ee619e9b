import HaulKit

/// The sentences that end a sync or a comparison.
struct SetSummary {
    let lines: [String]

    /// - Parameter isComparison: whether the folder was only compared, so that nothing was fetched.
    init(_ report: SetReport, folder: String, isComparison: Bool) {
        var lines: [String] = []
        let count = Self.files(report.files.count)
        let size = Format.bytes(report.bytes)
        if report.isWhole {
            let counts = isComparison ? "" : ", \(report.fetched) fetched, \(report.unchanged) were there"
            lines.append("\(folder) holds \(report.source): \(count), \(size)\(counts).")
        } else {
            let faults = Self.files(report.faults.count)
            let verb = report.faults.count == 1 ? "is" : "are"
            lines.append(
                "\(folder) does not hold \(report.source): \(faults) of the set \(verb) missing, wrong or refused."
            )
        }
        if let signer = report.signedBy { lines.append("The list is signed by \(signer).") }
        if let proofs = Self.proofs(report) { lines.append(proofs) }
        if !report.removed.isEmpty {
            lines.append("Removed, since the set has them no more: \(Self.names(report.removed)).")
        }
        if !report.kept.isEmpty {
            lines.append("Kept, since they were changed after a sync brought them: \(Self.names(report.kept)).")
        }
        self.lines = lines
    }

    private static func proofs(_ report: SetReport) -> String? {
        let proofs = report.proofs
        let named = proofs.filter { SetReport.proves($0.key) }.sorted { $0.key < $1.key }
        var sentences: [String] = []
        if !named.isEmpty {
            let parts = named.map { "\(files($0.value)) by \($0.key == "gitsha1" ? "git's SHA-1" : $0.key)" }
            sentences.append("Proved: \(parts.joined(separator: ", ")).")
        }
        if let equal = proofs["md5"] {
            sentences.append("Equal by MD5 alone, which proves nothing: \(files(equal)).")
        }
        if let none = proofs[SetReport.noAlgorithm] {
            sentences.append("Not proved, since no digest is published: \(files(none)).")
        }
        return sentences.isEmpty ? nil : sentences.joined(separator: " ")
    }

    private static func files(_ count: Int) -> String { count == 1 ? "1 file" : "\(count) files" }

    private static func names(_ names: [String]) -> String {
        let shown = names.prefix(10).joined(separator: ", ")
        return names.count > 10 ? "\(shown) and \(names.count - 10) more" : shown
    }
}
