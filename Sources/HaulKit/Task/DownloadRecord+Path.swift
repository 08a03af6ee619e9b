extension DownloadRecord {
    /// Returns the folder that `path` must not leave through a symbolic link; `nil` if the user chose every component
    /// of `path`.
    func root(of path: String) -> String? {
        request.root.flatMap { FolderWalk.parts(of: path, beneath: $0) == nil ? nil : $0 }
    }

    /// Returns the path of the file, from the request and the first answer.
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
