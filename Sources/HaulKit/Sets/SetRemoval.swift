// Removes files that earlier syncs of a folder brought and that the set no longer has, if ``SetOptions/deletes`` is
// set. Before the fetch, `Downloader+Sync` removes those that block a path of the set. After the fetch,
// ``SetWork/finish()`` removes the others.

extension SetRecords {
    /// Returns the records of files that earlier syncs brought and that the set no longer has, sorted by name.
    func others(than set: FileSet) -> [SetRecord] {
        let names = Set(set.files.map(\.name))
        return byName.values
            .filter { $0.isBrought && !names.contains($0.name) && !set.isUnread($0.name) }
            .sorted { $0.name < $1.name }
    }

    /// Whether the set has no digests, and names none of the files that earlier syncs brought, at least three. The
    /// server has then probably sent another page instead of the list, such as that of a captive portal.
    func isProbablyOther(_ set: FileSet) -> Bool {
        let brought = byName.values.count { $0.isBrought }
        return brought >= 3 && others(than: set).count == brought && set.files.allSatisfy { $0.checksum == nil }
    }

    /// Returns the records in ``others(than:)`` whose files are in the way: the set has a folder in the place of the
    /// file, or a file in the place of its folder.
    func obstacles(to set: FileSet) -> [SetRecord] {
        let others = others(than: set)
        guard !others.isEmpty else { return [] }
        let names = Set(set.files.map(\.name))
        let folders = Set(names.flatMap(Self.folders))
        return others.filter { other in
            folders.contains(other.name) || Self.folders(above: other.name).contains(where: names.contains)
        }
    }

    /// Returns the names of the folders of a name: `a` and `a/b` for `a/b/c`.
    private static func folders(above name: String) -> [String] {
        name.indices.filter { name[$0] == "/" }.map { String(name[..<$0]) }
    }
}

extension SetFolder {
    /// Removes files that are as a sync left them. Keeps changed files and reports them. Drops the records of both; a
    /// file that cannot be removed keeps its record.
    func remove(
        _ others: [SetRecord],
        _ records: inout SetRecords,
        _ report: inout SetReport,
        _ disk: any Disk
    ) async throws(DownloadError) {
        let statuses = try await statuses(of: others.map(\.name), disk)
        for (record, status) in zip(others, statuses) {
            let found: FileStatus?
            switch status {
            case .success(let status): found = status
            case .failure(let error):
                report.faults.append(SetReport.Fault(name: record.name, error: DownloadError(error)))
                continue
            }
            records.byName[record.name] = nil
            guard let status = found else { continue }
            guard status.isUnchanged(since: record.file) else {
                report.kept.append(record.name)
                continue
            }
            do throws(DownloadError) {
                try await remove(record.name, disk)
                report.removed.append(record.name)
            } catch {
                records.byName[record.name] = record
                report.faults.append(SetReport.Fault(name: record.name, error: error))
            }
        }
    }
}
