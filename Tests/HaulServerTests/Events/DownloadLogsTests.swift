import HaulKit
import Testing

@testable import HaulServer

/// Tests which lines the log of a download keeps.
@Suite struct DownloadLogsTests {
    @Test func aRemovedDownloadDoesNotTakeThePlaceOfALiveOne() {
        var logs = DownloadLogs()
        let id = DownloadID()
        logs.add(.info, "first", id)
        logs.remove(id)
        logs.add(.info, "second", id)
        for _ in 1...1999 { logs.add(.info, "other", DownloadID()) }
        #expect(logs.entries(of: id).map(\.text) == ["second"])
    }
}
