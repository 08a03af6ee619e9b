import HaulKit

/// Shows what the downloads of one command do.
protocol Display: Sendable {
    /// Whether it shows anything of a download before its end.
    var followsProgress: Bool { get }
    func added(_ snapshot: DownloadSnapshot)
    func changed(_ snapshot: DownloadSnapshot)
    func progressed(_ snapshot: DownloadSnapshot)
    func ended(_ snapshot: DownloadSnapshot, _ outcome: DownloadOutcome)
    /// A URL that did not even become a download.
    func refused(_ url: String, _ error: DownloadError)
    /// Something about the list as a whole.
    func noted(_ text: String)
    func close()
}

extension Display {
    var followsProgress: Bool { true }
    func added(_ snapshot: DownloadSnapshot) {}
    func changed(_ snapshot: DownloadSnapshot) {}
    func progressed(_ snapshot: DownloadSnapshot) {}
    func refused(_ url: String, _ error: DownloadError) { Output.error("\(url): \(error)") }
    func noted(_ text: String) { Output.note(text) }
    func close() {}
}

/// Errors only.
struct QuietDisplay: Display {
    var followsProgress: Bool { false }
    func noted(_ text: String) {}

    func ended(_ snapshot: DownloadSnapshot, _ outcome: DownloadOutcome) {
        if case .failed(let error) = outcome, error.code != .shutDown {
            Output.error("\(snapshot.url.masked): \(error)")
        }
    }
}
