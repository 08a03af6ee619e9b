extension SetDocuments {
    /// Fetches the lists of digests among the files of a set, and gives the files their digests.
    ///
    /// - Parameter onlyLastParts: whether folders in the names of the lists do not count.
    /// - Throws: ``DownloadError`` of a list that cannot be fetched. Without it, files would pass that it disproves.
    func applyLists(of set: inout FileSet, onlyLastParts: Bool = false) async throws(DownloadError) {
        var digests = SetDigests()
        for file in set.files where ChecksumList.isName(FilePaths.name(of: file.name)) {
            let bytes = try await contents(of: file)
            do throws(DownloadError) {
                let list = try ChecksumList(ClearSigned.text(bytes) ?? bytes, name: FilePaths.name(of: file.name))
                digests.add(list, named: file.name, onlyLastParts: onlyLastParts)
            } catch {
                // A file that only looks like a list proves nothing, and is one of the files.
                set.remarks.append("\(file.name) gives no digests: \(error.message)")
            }
        }
        digests.apply(to: &set)
    }

    private func contents(of list: FileSet.File) async throws(DownloadError) -> [UInt8] {
        do throws(DownloadError) { return try await read(list.url, headers: list.headers).bytes } catch {
            let message = "The list of digests \(list.name) could not be had. \(error.message)"
            throw DownloadError(code: error.code, message: message, cause: error.cause, status: error.status)
        }
    }
}
