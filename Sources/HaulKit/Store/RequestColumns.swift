internal import Foundation

/// A request as its row stores it. The column `request` holds its JSON without the parts that have their own columns.
///
/// URL, destination, key, group, owner, metadata and priority have their own columns, because queries and bulk updates
/// use them. Nothing is stored twice, and downloads with the same options have the same text.
extension DownloadRequest {
    /// The request without the parts that have their own columns.
    var options: DownloadRequest {
        var options = self
        options.url = Self.blank.url
        options.destination = Self.blank.destination
        (options.target, options.isChosenByDocument, options.root) = (target, isChosenByDocument, root)
        (options.key, options.group, options.owner, options.metadata, options.priority) = (nil, nil, nil, nil, 0)
        return options
    }

    /// Creates the request of a row. The caller sets key, group, owner, metadata and priority.
    init(options: DownloadRequest, url: URL, destination: Destination) {
        self = options
        (self.url, self.destination) = (url, destination)
        // Restores properties that setting `url` and `destination` resets.
        (target, isChosenByDocument, root) = (options.target, options.isChosenByDocument, options.root)
    }

    /// Whether another request has the same URL, method and body.
    func asksTheSame(as other: DownloadRequest) -> Bool { url == other.url && method == other.method }

    /// Takes over the URL of another request with its spelling.
    mutating func takeURL(of other: DownloadRequest) {
        url = other.url
        (target, isChosenByDocument) = (other.target, other.isChosenByDocument)
    }
}

/// Decodes the column `request`. Decodes a text only once for consecutive rows, because downloads that were added
/// together have the same text.
///
/// Create a new reader for each query.
struct RequestReader {
    private var last: (text: String, options: DownloadRequest)?
    private let decoder = JSONDecoder()

    /// - Parameters:
    ///   - url: text of the column `url`.
    ///   - file: path of the requested file. If it is `nil`, `folder` is the destination.
    mutating func request(_ text: String, url: String, file: String?, folder: String?) throws -> DownloadRequest {
        let destination: DownloadRequest.Destination
        switch (file, folder) {
        case (let path?, _): destination = .file(path: path)
        case (nil, let path?): destination = .folder(path: path)
        case (nil, nil): throw OddValue(column: "folder")
        }
        guard let url = URL(string: url) else { throw OddValue(column: "url") }
        return DownloadRequest(options: try options(text), url: url, destination: destination)
    }

    private mutating func options(_ text: String) throws -> DownloadRequest {
        if let last, last.text == text { return last.options }
        let options = try decoder.decode(DownloadRequest.self, from: Data(text.utf8))
        last = (text, options)
        return options
    }
}
