/// Where the file of a download is to go.
extension DownloadRecord {
    /// The folder that a path must not leave by a symbolic link; nil where the user chose every part of it.
    func root(of path: String) -> String? {
        wishes.root.flatMap { FolderWalk.parts(of: path, beneath: $0) == nil ? nil : $0 }
    }

    var conflictPolicy: DownloadRequest.ConflictPolicy {
        wishes.onConflict ?? (file == nil ? .rename : .fail)
    }

    /// Where the file is to go, now that the answer is here.
    func path(_ preparation: DownloadMachine.Preparation) -> String? {
        if let file { return file }
        return folder.map { folder in
            FilePaths.join(
                folder,
                FileName.choose(
                    contentDisposition: preparation.contentDisposition,
                    suggested: wishes.suggestedName,
                    isNumbered: wishes.isNameNumbered ?? false,
                    urls: preparation.nameSources,
                    mediaType: preparation.resource.contentCoding == nil ? preparation.resource.contentType : nil
                )
            )
        }
    }
}
