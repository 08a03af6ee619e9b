import Foundation
import HaulKit

/// A Metalink that was named on the command line: a file, or a URL to fetch it from.
struct MetalinkOption {
    let place: String

    init(_ place: String) { self.place = place }

    /// Whether an argument that stands where a URL is expected names such a file.
    static func isFile(_ argument: String) -> Bool {
        (argument.hasSuffix(".meta4") || argument.hasSuffix(".metalink")) && !argument.contains("://")
    }

    /// Where it is fetched from; nil for a file.
    var url: URL? { place.contains("://") ? URL(string: place) : nil }

    func load(_ downloader: Downloader, _ network: NetworkOptions) async throws -> Metalink {
        try Metalink(await data(downloader, network))
    }

    private func data(_ downloader: Downloader, _ network: NetworkOptions) async throws -> Data {
        guard place.contains("://") else {
            guard let data = FileManager.default.contents(atPath: place) else {
                throw Complaint("\(place) cannot be read.", .usage)
            }
            return data
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("haul-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var request = DownloadRequest(try GetOptions.url(place), to: .file(path: folder + "/metalink"))
        network.apply(to: &request)
        let download = try await downloader.add(request)
        let path = try await download.result().path
        let data = FileManager.default.contents(atPath: path)
        try await download.remove()
        guard let data else { throw Complaint("\(path) cannot be read.", .disk) }
        return data
    }
}
