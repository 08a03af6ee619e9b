import HaulAria2
import HaulKit
import HaulServer

/// `--dry-run`: probes each file on its server and writes none.
struct Aria2DryRun: Sendable {
    let downloader: Downloader
    let settings: Aria2Settings
    let console: Aria2Console

    func run() async {
        console.log.write(.notice, "Downloading \(settings.requests.count) item(s)")
        for request in settings.requests {
            let gid = request.options["gid"].flatMap { GID($0) } ?? .random()
            do throws(Aria2Error) {
                let made = try request.downloadRequest(global: settings.global, roots: nil)
                console.found(try await probe(made), made, gid)
            } catch { console.refused(error, uri: request.uris.first ?? "", gid) }
        }
    }

    private func probe(_ request: DownloadRequest) async throws(Aria2Error) -> ResourceDescription {
        do throws(DownloadError) { return try await downloader.probe(request) } catch { throw Aria2Error(error) }
    }
}
