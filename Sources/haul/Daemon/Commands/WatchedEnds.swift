import HaulKit
import HaulServer

/// The downloads that a command waits for, and the status of each download that has ended.
struct WatchedEnds {
    /// The downloads to wait for, in the order of the command; `nil` for none.
    let only: [String]?
    private var ended: [String: ExitStatus] = [:]

    init(only: [DownloadID]?) { self.only = only?.map(\.description) }

    /// - Returns: the status of the first download in `only` that did not complete; `nil` until all have ended, and
    ///   always without `only`.
    var status: ExitStatus? {
        guard let only, only.allSatisfy({ ended[$0] != nil }) else { return nil }
        return only.compactMap { ended[$0] }.first { $0 != .complete } ?? .complete
    }

    func hasEnded(_ id: String) -> Bool { ended[id] != nil }

    mutating func note(_ row: DownloadRow, of id: String) {
        switch row.state {
        case .completed: ended[id] = .complete
        case .failed: ended[id] = ExitStatus(problemCode: row.error?.code ?? "")
        default: ended[id] = nil
        }
    }

    mutating func noteRemoval(of id: String) { ended[id] = .interrupted }
}
