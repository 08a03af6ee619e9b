extension SetDocuments {
    /// Fetches the lists of digests among the files of a set, and gives the files their digests. Skips lists whose
    /// names match ``SetOptions/except``.
    ///
    /// - Parameters:
    ///   - onlyLastParts: whether only the last part of a listed name counts, without its folders.
    ///   - digests: digests that are known already.
    /// - Throws: ``DownloadError`` of a list that cannot be fetched; ``DownloadError/Code/unprovedSet`` for a list that
    ///   cannot be read. Ignoring an unreadable list would let files pass that the list disproves.
    func applyLists(
        of set: inout FileSet,
        onlyLastParts: Bool = false,
        to digests: SetDigests = SetDigests()
    ) async throws(DownloadError) {
        var digests = digests
        var plain: [String] = []
        for file in set.files where ChecksumList.isName(FilePaths.name(of: file.name)) && !isLeftOut(file.name) {
            let document = try await contents(of: file)
            let bytes = document.bytes
            // A file that is named like a list but has no digests is an ordinary file of the set.
            guard ChecksumList.isMeant(by: bytes) else {
                plain.append(file.name)
                continue
            }
            let list = try readable(bytes, file.name)
            try digests.add(list, named: file.name, onlyLastParts: onlyLastParts)
            if let remark = list.remark(named: file.name) { set.remarks.append(remark) }
            if !document.isFramed { set.noteUnknownEnd(of: file.name) }
        }
        digests.apply(to: &set)
        guard let first = plain.first else { return }
        let rest = plain.count == 1 ? "" : " and \(plain.count - 1) more"
        set.remarks.append(
            VisibleText.line("Called like a list of digests, and without any, so it proves no file: \(first)\(rest).")
        )
    }

    private func isLeftOut(_ name: String) -> Bool {
        guard !except.isEmpty else { return false }
        let path = PathPattern.Path(name)
        return except.contains { $0.matches(path) }
    }

    private func contents(of list: FileSet.File) async throws(DownloadError) -> SetDocument {
        do throws(DownloadError) { return try await read(list.url, headers: list.headers) } catch {
            let message = "The list of digests \(VisibleText.line(list.name)) could not be had. \(error.message)"
            throw DownloadError(code: error.code, message: message, cause: error.cause, status: error.status)
        }
    }

    private func readable(_ bytes: [UInt8], _ name: String) throws(DownloadError) -> ChecksumList {
        func unproved(_ cause: String) -> DownloadError {
            let message = "\(VisibleText.line(name)) has digests, and cannot be read. No file was asked for."
            return DownloadError(.unprovedSet, message, cause: cause)
        }
        let list: ChecksumList
        do throws(DownloadError) {
            list = try ChecksumList(ClearSigned.text(bytes) ?? bytes, name: FilePaths.name(of: name))
        } catch { throw unproved(error.message) }
        // A damaged line may hold the digest of any file.
        guard list.damagedLines == 0 else { throw unproved(list.damage) }
        return list
    }
}

extension ChecksumList {
    /// Returns a sentence about the lines that cannot be read; `nil` if there are none.
    func remark(named name: String) -> String? {
        guard unreadLines > 0 else { return nil }
        let lines = unreadLines == 1 ? "A line" : "\(unreadLines) lines"
        return VisibleText.line("\(lines) of \(name) can be read neither as a digest nor as a remark.")
    }

    /// A sentence about the damaged lines.
    var damage: String {
        let lines = damagedLines == 1 ? "A line has" : "\(damagedLines) lines have"
        return "\(lines) a digest that is damaged or without a name."
    }
}
