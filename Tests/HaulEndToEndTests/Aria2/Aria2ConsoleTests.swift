import HaulAria2
import HaulKit
import HaulServer
import Testing

@testable import haul

/// Tests the texts that `aria2c` prints.
@Suite struct Aria2ConsoleTests {
    private let readout = Aria2Readout(isHumanReadable: true)

    @Test(
        arguments: [
            (0, "0"), (921, "921"), (922, "0.9Ki"), (1024, "1.0Ki"), (1_048_576, "1.0Mi"), (5 << 20, "5.0Mi"),
            (12 << 20, "12Mi"),
            (500 << 20, "500Mi"), (940 << 20, "0.9Gi"), (Int64.max, "8589934591Gi"), (-5, "0"),
        ] as [(Int64, String)]
    )
    func sizesAreAbbreviated(_ count: Int64, _ text: String) { #expect(Aria2Readout.abbreviated(count) == text) }

    @Test func timesAreAbbreviated() {
        #expect([0, 8, 60, 61, 3600, 3723].map(Aria2Readout.time) == ["0s", "8s", "1m", "1m1s", "1h", "1h2m3s"])
    }

    @Test func aRowSaysHowFarItIs() throws {
        let gid = try #require(GID("dbe5be0123456789"))
        var row = Aria2Readout.Row(gid: gid, received: 1 << 20, total: 10 << 20, connections: 5, speed: 1_048_576)
        #expect(readout.line(row) == "[#dbe5be 1.0MiB/10MiB(10%) CN:5 DL:1.0MiB ETA:9s]")
        row.total = nil
        row.speed = .infinity
        #expect(readout.line(row).hasPrefix("[#dbe5be 1.0MiB/0B CN:5 DL:"))
    }

    @Test func manyRowsAreShownInPart() throws {
        let gid = try #require(GID("dbe5be0123456789"))
        let rows = Array(
            repeating: Aria2Readout.Row(gid: gid, received: 1, total: 2, connections: 1, speed: 1),
            count: 7
        )
        #expect(readout.lines(rows).hasPrefix("[DL:7B][#dbe5be 1B/2B(50%)]"))
        #expect(readout.lines(rows).hasSuffix("(+2)"))
        #expect(readout.lines([]) == "")
    }

    // MARK: Results

    private func results(_ statuses: [Aria2Results.Row.Status]) throws -> Aria2Results {
        let gid = try #require(GID("dbe5be0123456789"))
        var results = Aria2Results()
        for status in statuses { results.add(.init(gid: gid, status: status, speed: 1 << 20, place: "d/x")) }
        return results
    }

    @Test func theStatusIsThatOfTheLastFailure() throws {
        #expect(try results([]).status == .complete)
        #expect(try results([.complete, .removed]).status == .complete)
        #expect(try results([.failed(.notFound), .failed(.timeout), .complete]).status == .timeout)
        #expect(try results([.complete, .unfinished]).status == .unfinished)
        #expect(try results([.failed(.notFound), .unfinished]).status == .notFound)
    }

    @Test func theTableIsAria2s() throws {
        let table = try results([.complete, .failed(.notFound)]).table(form: "default", readout, isColoured: false)
        #expect(table.contains("\ngid   |stat|avg speed  |path/URI\n======+====+===========+======="))
        #expect(table.contains("\ndbe5be|OK  |   1.0MiB/s|d/x\n"))
        #expect(table.contains("\ndbe5be|ERR |   1.0MiB/s|d/x\n"))
        #expect(table.contains("\nStatus Legend:\n(OK):download completed.(ERR):error occurred.\n"))
        #expect(try results([.complete]).table(form: "full", readout, isColoured: false).contains("|  -|d/x"))
        #expect(try results([.complete]).table(form: "hide", readout, isColoured: false) == "")
        #expect(try results([]).table(form: "default", readout, isColoured: false) == "")
    }

    @Test func resultsThatAClientRemovesDoNotCount() throws {
        let gids = try ["1123456789abcdef", "2123456789abcdef"].map { try #require(GID($0)) }
        var results = Aria2Results()
        results.add(.init(gid: gids[0], status: .failed(.timeout), place: ""))
        results.add(.init(gid: gids[1], status: .failed(.notFound), place: ""))
        results.forget(gids[1])
        #expect(results.status == .timeout)
        results.forget(nil)
        #expect(results.status == .complete && results.rows.isEmpty)
    }

    @Test func resultsAreBounded() throws {
        let gid = try #require(GID("dbe5be0123456789"))
        var results = Aria2Results(most: 10)
        results.add(.init(gid: gid, status: .failed(.timeout), place: ""))
        for _ in 0..<1000 { results.add(.init(gid: gid, status: .complete, place: "")) }
        #expect(results.rows.count <= 21)
        #expect(results.status == .timeout)
    }

    @Test func programsAreLookedForInThePath() {
        #expect(Aria2Hooks.found("/no/such", nil) == "/no/such")
        #expect(Aria2Hooks.found("sh", "/nowhere:/bin") == "/bin/sh")
        #expect(Aria2Hooks.found("no-such-program", "/bin") == nil)
    }
}
