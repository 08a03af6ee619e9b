import Foundation
import HaulKit

/// Shows the downloads of one command.
protocol Display: Sendable {
    /// Whether it shows anything of a download before its end.
    var followsProgress: Bool { get }
    /// Which options the printed errors may name.
    var advice: ErrorAdvice { get }
    func added(_ snapshot: DownloadSnapshot)
    func changed(_ snapshot: DownloadSnapshot)
    func progressed(_ snapshot: DownloadSnapshot)
    func ended(_ snapshot: DownloadSnapshot, _ outcome: DownloadOutcome)
    /// `count` requests will be added in all; equal ones are one download.
    func expects(_ count: Int)
    /// A request that was refused when it was added.
    ///
    /// - Parameter place: file and line, if it comes from a list.
    func refused(_ url: String, _ error: DownloadError, at place: String?)
    /// A line of a list that is not a URL.
    func unreadable(_ line: Wanted.Unreadable)
    /// A remark that is not about a single download.
    func noted(_ text: String)
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
    func close() {}
}

/// Errors only.
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
