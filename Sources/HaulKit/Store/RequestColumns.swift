internal import Foundation

/// A request as a row has it: the column `request` holds its JSON, without the parts that have columns of their own.
///
/// Those parts are what queries ask for and what statements change in many rows at once: URL, destination, key, group, owner,
/// metadata, priority. Nothing is stored twice, and a list of downloads with the same options has one text for all.
extension DownloadRequest {
    /// What the column `request` holds.
    var options: DownloadRequest {
        var options = self
        options.url = Self.blank.url
        options.destination = Self.blank.destination
        (options.target, options.isChosenByDocument, options.root) = (target, isChosenByDocument, root)
        (options.key, options.group, options.owner, options.metadata, options.priority) = (nil, nil, nil, nil, 0)
        return options
    }

    /// The request of a row. The remaining parts are set by the caller.
    init(options: DownloadRequest, url: URL, destination: Destination) {
        self = options
        (self.url, self.destination) = (url, destination)
        // Which a change of URL and destination resets.
        (target, isChosenByDocument, root) = (options.target, options.isChosenByDocument, options.root)
    }

    /// Whether another request is for the same URL, by the same method with the same body.
    func asksTheSame(as other: DownloadRequest) -> Bool { url == other.url && method == other.method }

    /// Takes over URL and spelling of another request.
    mutating func takeURL(of other: DownloadRequest) {
        url = other.url
        (target, isChosenByDocument) = (other.target, other.isChosenByDocument)
    }
}

/// Reads the column `request`: downloads that were added together have the same text, which is decoded once.
///
/// Belongs to one reading: not to be kept.
struct RequestReader {
    private var last: (text: String, options: DownloadRequest)?
    private let decoder = JSONDecoder()

    /// - Parameters:
    ///   - url: the text of its column.
    ///   - file: the file that was asked for; without it, `folder` is the folder.
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
