import Foundation
import HaulKit
import Synchronization

/// The display for logs and pipes: prints a line when a file starts, when it waits (with the reason), and when it ends.
/// The paths of complete files go to standard output, unless that is a terminal.
final class PlainDisplay: Display {
    private struct State {
        var started: [DownloadID: (at: ContinuousClock.Instant, bytes: Int64)] = [:]
        /// Received bytes while a download was queued or connecting. The first snapshot of its transfer may already
        /// include bytes of this run.
        var before: [DownloadID: Int64] = [:]
    }
    let advice: ErrorAdvice
    private let state = Mutex(State())

    init(_ advice: ErrorAdvice) { self.advice = advice }

    func changed(_ snapshot: DownloadSnapshot) {
        switch snapshot.state {
        case .transferring:
            let start = state.withLock { state -> (bytes: Int64, isAgain: Bool)? in
                guard state.started[snapshot.id] == nil else { return nil }
                let before = state.before.removeValue(forKey: snapshot.id) ?? snapshot.receivedBytes
                // If there are fewer bytes than before, those of an earlier run were dropped, for example because the
                // file has changed.
                let isAgain = snapshot.receivedBytes < before
                state.started[snapshot.id] = (.now, isAgain ? 0 : before)
                return (before, isAgain)
            }
            guard let start else { return }
            let size = snapshot.totalBytes.map { (snapshot.stream == nil ? ", " : ", ~") + Format.bytes($0) } ?? ""
            let segments = snapshot.stream.map(Self.segments) ?? ""
            let resumed =
                start.isAgain
                ? ", from the beginning: the \(Format.bytes(start.bytes)) that were here are of no use"
                : start.bytes > 0 ? ", from " + Format.bytes(start.bytes) : ""
            Output.note("\(snapshot.url.messageText) -> \(snapshot.path ?? "?")\(size)\(segments)\(resumed)", .passing)
        case .waiting:
            Output.note("\(snapshot.url.messageText): \(Format.waiting(snapshot))", .passing)
        case .queued, .connecting: state.withLock { $0.before[snapshot.id] = snapshot.receivedBytes }
        case .paused:
            if let reason = Format.held(snapshot) { Output.note("\(snapshot.url.messageText): \(reason)", .passing) }
        default: break
        }
    }

    private static func segments(_ stream: DownloadSnapshot.Stream) -> String {
        if stream.isLive { return ", live" }
        switch stream.segments {
        case 0: return ""
        case 1: return ", 1 segment"
        default: return ", \(stream.segments) segments"
        }
    }

    func ended(_ snapshot: DownloadSnapshot, _ outcome: DownloadOutcome) {
        state.withLock { $0.before[snapshot.id] = nil }
        switch outcome {
        case .completed(let completed):
            let start = state.withLock { $0.started.removeValue(forKey: snapshot.id) }
            Output.note(Format.completed(completed, since: start?.at, from: start?.bytes ?? 0))
            if isatty(STDOUT_FILENO) == 0 { Output.result(completed.path) }
        case .failed(let error) where error.code == .shutDown: break
        case .failed(let error):
            state.withLock { $0.started[snapshot.id] = nil }
            Output.error("\(snapshot.url.messageText): \(advice.text(error))")
        case .cancelled: break
        }
    }
}
