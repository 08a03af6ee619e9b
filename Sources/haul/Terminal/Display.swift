import HaulKit

/// Shows what the downloads of one command do.
protocol Display: Sendable {
    func added(_ snapshot: DownloadSnapshot)
    func changed(_ snapshot: DownloadSnapshot)
    func progressed(_ snapshot: DownloadSnapshot)
    func ended(_ snapshot: DownloadSnapshot, _ outcome: DownloadOutcome)
    /// A URL that did not even become a download.
    func refused(_ url: String, _ error: DownloadError)
    func close()
}

extension Display {
    func added(_ snapshot: DownloadSnapshot) {}
    func changed(_ snapshot: DownloadSnapshot) {}
    func progressed(_ snapshot: DownloadSnapshot) {}
    func refused(_ url: String, _ error: DownloadError) { Output.error("\(url): \(error)") }
    func close() {}
}

/// Errors only.
struct QuietDisplay: Display {
    func ended(_ snapshot: DownloadSnapshot, _ outcome: DownloadOutcome) {
        if case .failed(let error) = outcome, error.code != .shutDown {
            Output.error("\(snapshot.url.masked): \(error)")
        }
    }
}
