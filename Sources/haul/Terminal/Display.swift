import Foundation
import HaulKit

/// Shows the downloads of one command. `CommandSession.display` chooses the display.
protocol Display: Sendable {
    /// Whether the display shows downloads before they end.
    var followsProgress: Bool { get }
    /// The options that printed errors may name.
    var advice: ErrorAdvice { get }
    func added(_ snapshot: DownloadSnapshot)
    func changed(_ snapshot: DownloadSnapshot)
    func progressed(_ snapshot: DownloadSnapshot)
    func ended(_ snapshot: DownloadSnapshot, _ outcome: DownloadOutcome)
    /// Announces the number of requests. Fewer downloads may follow, because equal requests become one download.
    func expects(_ count: Int)
    /// Shows a request that was refused when it was added.
    ///
    /// - Parameter place: file and line, if the request comes from a list.
    func refused(_ url: String, _ error: DownloadError, at place: String?)
    /// Shows a line of a list that is not a URL, or a file of a Metalink that cannot be used.
    func unreadable(_ line: Wanted.Unreadable)
    /// Shows a remark that is not about a single download.
    func noted(_ text: String)
    /// Shows who signed a list of digests.
    ///
    /// - Parameter list: URL or path of the list, without secrets.
    func signed(_ list: String, by signer: String)
    func close()
}

extension Display {
    var followsProgress: Bool { true }
    func added(_ snapshot: DownloadSnapshot) {}
    func changed(_ snapshot: DownloadSnapshot) {}
    func progressed(_ snapshot: DownloadSnapshot) {}
    func expects(_ count: Int) {}
    func refused(_ url: String, _ error: DownloadError, at place: String?) {
        Output.error("\(place.map { $0 + ": " } ?? "")\(URL.cut(url)): \(advice.text(error))")
    }
    func unreadable(_ line: Wanted.Unreadable) { Output.error("\(line.place): \(line.text): \(line.reason)") }
    func noted(_ text: String) { Output.note(text) }
    func signed(_ list: String, by signer: String) { noted("The list is signed by \(signer).") }
    func close() {}
}

/// Prints only errors.
struct QuietDisplay: Display {
    let advice: ErrorAdvice
    var followsProgress: Bool { false }
    func noted(_ text: String) {}

    func ended(_ snapshot: DownloadSnapshot, _ outcome: DownloadOutcome) {
        if case .failed(let error) = outcome, error.code != .shutDown {
            Output.error("\(snapshot.url.messageText): \(advice.text(error))")
        }
    }
}
