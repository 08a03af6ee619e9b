import Foundation
import HaulKit
import Testing

@testable import HaulServer

/// Tests which lines the log of a download keeps.
@Suite struct DownloadLogsTests {
    @Test func aRemovedDownloadDoesNotTakeThePlaceOfALiveOne() {
        var logs = DownloadLogs()
        let id = DownloadID()
        logs.add(.init(.info, .added, "first"), id)
        logs.remove(id)
        logs.add(.init(.info, .added, "second"), id)
        for _ in 1...1999 { logs.add(.init(.info, .added, "other"), DownloadID()) }
        #expect(logs.entries(of: id).map(\.text) == ["second"])
    }

    /// A client can write each line in another language, by its code and values.
    @Test func eachLineHasACodeWithItsValues() throws {
        var logs = DownloadLogs()
        let id = DownloadID()
        let url = try #require(URL(string: "http://host.example/f"))
        let failure = DownloadError(code: .refusedByServer, message: "The server said no.", status: 503)
        func snapshot(_ state: DownloadSnapshot.State, _ reason: HoldReason? = nil, _ error: DownloadError? = nil)
            -> DownloadSnapshot
        { DownloadSnapshot(id: id, url: url, state: state, holdReason: reason, error: error) }
        logs.record(snapshot(.queued, .offline))
        logs.record(snapshot(.connecting))
        logs.record(snapshot(.transferring))
        logs.record(snapshot(.waiting, nil, failure))
        logs.record(snapshot(.paused))
        logs.record(snapshot(.paused, .diskFull))
        logs.record(snapshot(.verifying))
        logs.record(.completed(CompletedDownload(path: "/folder/f", bytes: 1)), id)
        logs.record(.failed(failure), id)
        let entries = logs.entries(of: id)
        #expect(
            entries.map(\.code) == [
                .queued, .connecting, .receiving, .retrying, .paused, .held, .verifying, .completed, .failed,
            ]
        )
        #expect(entries.map(\.holdReason) == [.offline, nil, nil, nil, nil, .diskFull, nil, nil, nil])
        #expect(entries.compactMap(\.host) == ["host.example", "host.example"])
        #expect(entries.map(\.error?.status) == [nil, nil, nil, 503, nil, nil, nil, nil, 503])
        #expect(entries[7].path == "/folder/f")
        #expect(entries.allSatisfy { !$0.text.isEmpty })
    }
}
