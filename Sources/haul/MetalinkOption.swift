import Foundation
import HaulKit

/// A Metalink that was named on the command line: a file, or a URL to fetch it from.
struct MetalinkOption {
    let place: String

    init(_ place: String) { self.place = place }

    /// Whether an argument in place of a URL names such a file.
    static func isFile(_ argument: String) -> Bool {
        (argument.hasSuffix(".meta4") || argument.hasSuffix(".metalink")) && !argument.contains("://")
    }

    /// The URL of the document; nil for a file.
    var url: URL? { place.contains("://") ? HTTPURL(place)?.url : nil }

    /// Reads the document, and reports what in it cannot be used.
    func load(_ session: Session, _ network: NetworkOptions) async throws -> Metalink {
        let metalink = try await read(session.downloader, network)
        for remark in metalink.remarks { session.display.noted(remark) }
        return metalink
    }

    private func read(_ downloader: Downloader, _ network: NetworkOptions) async throws -> Metalink {
        guard place.contains("://") else { return try Metalink(contents()) }
        var request = DownloadRequest(try GetOptions.spelled(place), to: .folder(path: "."))
        network.apply(to: &request)
        return try await downloader.metalink(request)
    }

    private func contents() throws -> Data {
        // Limited to the size of a document: the path may be a disk image, or an endless device.
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: FilePaths.absolute(place)))
            defer { try? handle.close() }  // nothing was written
            var data = Data()
            while data.count <= Metalink.maximumBytes, let part = try handle.read(upToCount: 1 << 20), !part.isEmpty {
                data += part
            }
            return data
        } catch {
            throw Complaint("\(place) cannot be read.", .usage)
        }
    }
}
