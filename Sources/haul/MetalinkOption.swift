import Foundation
import HaulKit

/// A Metalink that was named on the command line: a file, or a URL to fetch it from.
struct MetalinkOption {
    let place: String

    /// The parsed file; `nil` for a URL, which `load(_:_:)` fetches with a downloader.
    private let document: Metalink?

    /// Reads the document at once if `place` is a file. Commands call this initializer before they open the store,
    /// because reading a pipe may block, and a signal ends the process at once only while the store is not open.
    init(_ place: String) throws {
        self.place = place
        document = place.contains("://") ? nil : try Metalink(OptionFile.contents(place, limit: Metalink.maximumBytes))
    }

    /// Whether an argument in the place of a URL is the path of a Metalink file, by its extension.
    static func isFile(_ argument: String) -> Bool {
        (argument.hasSuffix(".meta4") || argument.hasSuffix(".metalink")) && !argument.contains("://")
    }

    /// The URL of the document; `nil` for a file.
    var url: URL? { place.contains("://") ? HTTPURL(place)?.url : nil }

    /// Fetches the document if `place` is a URL, and reports the parts that cannot be used.
    ///
    /// - Parameter notesLeftOut: whether the files that are left out are reported too.
    func load(_ session: CommandSession, _ network: NetworkOptions, notesLeftOut: Bool = true) async throws -> Metalink
    {
        let metalink = try await read(session.downloader, network)
        let leftOut = notesLeftOut ? [] : Set(metalink.leftOut.map(\.reason))
        for remark in metalink.remarks where !leftOut.contains(remark) { session.display.noted(remark) }
        return metalink
    }

    private func read(_ downloader: Downloader, _ network: NetworkOptions) async throws -> Metalink {
        if let document { return document }
        var request = DownloadRequest(try GetOptions.spelled(place), to: .folder(path: "."))
        network.apply(to: &request)
        return try await downloader.metalink(request)
    }
}
