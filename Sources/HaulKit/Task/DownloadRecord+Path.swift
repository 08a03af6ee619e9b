/// Where the file of a download is to go.
extension DownloadRecord {
    /// The folder that a path must not leave by a symbolic link; nil where the user chose every part of it.
    func root(of path: String) -> String? {
        request.root.flatMap { FolderWalk.parts(of: path, beneath: $0) == nil ? nil : $0 }
    }

    /// Where the file is to go, now that the answer is here.
    func path(_ preparation: DownloadMachine.Preparation) -> String {
        switch request.destination {
        case .file(let path): path
        case .folder(let path):
            FilePaths.join(
                path,
                FileName.choose(
                    contentDisposition: preparation.contentDisposition,
                    suggested: request.suggestedName,
                    isNumbered: request.isNameNumbered,
                    urls: preparation.nameSources,
                    mediaType: preparation.resource.contentCoding == nil ? preparation.resource.contentType : nil
                )
            )
        }
    }
}
