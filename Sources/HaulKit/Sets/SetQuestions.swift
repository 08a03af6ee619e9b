internal import Foundation

/// Asks the servers whether files without a digest are the present versions.
struct SetQuestions: Sendable {
    let downloader: Downloader
    let options: SetOptions
    /// The origin that gets the header fields of the options.
    let origin: Origin?

    private static let questionsAtOnce = 16

    /// - Parameters:
    ///   - findings: results of the comparison, one for each file. Only the servers of undecided files are asked.
    ///   - records: the records of earlier syncs, by name.
    /// - Returns: the indices of the files that are present versions.
    func present(
        _ files: [FileSet.File],
        _ findings: [SetComparison.Finding],
        _ records: [String: SetRecord]
    ) async throws(DownloadError) -> Set<Int> {
        var undecided: [(Int, FileStatus)] = []
        for (index, finding) in findings.enumerated() {
            if case .undecided(let status) = finding { undecided.append((index, status)) }
        }
        var present: Set<Int> = []
        for start in stride(from: 0, to: undecided.count, by: Self.questionsAtOnce) {
            try await downloader.checkIsOpen()
            let part = undecided[start..<min(undecided.count, start + Self.questionsAtOnce)]
            await withTaskGroup(of: Int?.self) { group in
                for (index, status) in part {
                    let (file, record) = (files[index], records[files[index].name])
                    group.addTask { await isPresentVersion(file, status, record) ? index : nil }
                }
                for await index in group { if let index { present.insert(index) } }
            }
        }
        return present
    }

    /// Compares the length, which the server must state, and then the entity tag or else the modification time. If
    /// neither a tag nor a time can be compared, only a file that is unchanged since its record counts as present.
    private func isPresentVersion(_ file: FileSet.File, _ status: FileStatus, _ record: SetRecord?) async -> Bool {
        var request = DownloadRequest(file.url, to: .folder(path: "."))
        request.headers = file.headers + (Origin(file.url) == origin ? options.headers : [])
        request.isChosenByDocument = true
        request.allowsInsecureRedirects = options.allowsInsecureRedirects
        request.stream = Downloader.playlistsAsFiles
        // A file whose server does not answer is fetched again, and that download says why it fails.
        guard let answer = try? await downloader.probe(request), answer.totalBytes == status.size else { return false }
        let isOfRecord = record.map { status.isUnchanged(since: $0.file) } ?? false
        if isOfRecord, let mine = record?.entityTag, let theirs = answer.entityTag { return mine == theirs }
        guard let modified = answer.lastModified else { return isOfRecord }
        return Int64(modified.timeIntervalSince1970.rounded(.down)) == status.modified / 1_000_000_000
    }
}

extension DownloadRecord {
    /// The entity tag with which the file was fetched; `nil` without one.
    var entityTag: String? { resource?.validator.entityTag.flatMap { $0.isWellFormed ? $0.text : nil } }
}
