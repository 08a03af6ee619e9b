import Foundation
import HaulKit

/// A Metalink that was named on the command line: a file, or a URL to fetch it from.
struct MetalinkOption {
    let place: String

    /// What the file says; nil for a URL, which is fetched when there is a downloader.
    private let document: Metalink?

    /// Reads the document if it is a file: while it is waited for, as where it is a pipe, a signal may still end the process at once.
    init(_ place: String) throws {
        self.place = place
        document = place.contains("://") ? nil : try Metalink(OptionFile.contents(place, limit: Metalink.maximumBytes))
    }

    /// Whether an argument in place of a URL names such a file.
    static func isFile(_ argument: String) -> Bool {
        (argument.hasSuffix(".meta4") || argument.hasSuffix(".metalink")) && !argument.contains("://")
    }

    /// The URL of the document; nil for a file.
    var url: URL? { place.contains("://") ? HTTPURL(place)?.url : nil }

    /// Fetches the document if need be, and reports what in it cannot be used.
    func load(_ session: Session, _ network: NetworkOptions) async throws -> Metalink {
        let metalink = try await read(session.downloader, network)
        for remark in metalink.remarks { session.display.noted(remark) }
        return metalink
    }

    private func read(_ downloader: Downloader, _ network: NetworkOptions) async throws -> Metalink {
        if let document { return document }
        var request = DownloadRequest(try GetOptions.spelled(place), to: .folder(path: "."))
        network.apply(to: &request)
        return try await downloader.metalink(request)
    }
}
