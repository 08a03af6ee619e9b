import Foundation
import Testing

@testable import HaulAria2
@testable import HaulServer

@Suite struct Aria2OptionsTests {
    private func options(_ values: (String, String)...) throws -> Aria2Options {
        var options = Aria2Options()
        for (name, value) in values { try options.set(name, value) }
        return options
    }

    @Test func theLastValueCountsAndHeadersAdd() throws {
        let options = try options(("split", "3"), ("split", "7"), ("header", "A: b"), ("header", "C: d"))
        #expect(options["split"] == "7")
        #expect(options.list("header") == ["A: b", "C: d"])
        #expect(options.shown == ["split": "7", "header": "A: b\nC: d\n"])
    }

    @Test func anEmptyHeaderTakesAwayThoseBefore() throws {
        #expect(try options(("header", "A: b"), ("header", "")).list("header") == [""])
        #expect(try options(("header", "A: b"), ("header", ""), ("header", "C: d")).list("header") == ["C: d"])
    }

    @Test func anUnknownNameIsRefused() {
        #expect(throws: Aria2OptionError.self) { try options(("no-such-option", "1")) }
    }

    @Test func aListIsNotWithoutEnd() throws {
        var options = Aria2Options()
        for index in 0..<1000 { try options.set("header", "A: \(index)") }
        #expect(throws: Aria2OptionError.self) { try options.set("header", "A: more") }
    }

    @Test func aDownloadHasGlobalValuesAndDefaultsBelowItsOwn() throws {
        let global = try options(("split", "8"), ("dir", "/a"), ("max-concurrent-downloads", "2"), ("out", "x"))
        let own = try options(("dir", "/b")).over(global)
        #expect(own["split"] == "8")
        #expect(own["dir"] == "/b")
        #expect(own["max-tries"] == "5")
        #expect(own["out"] == nil, "a name is of one download")
        #expect(own["max-concurrent-downloads"] == nil)
    }

    @Test func secretsAndWhatAria2LeavesOutAreNotShown() throws {
        let options = try options(("rpc-secret", "s"), ("gid", "0123456789abcdef"), ("pause", "true"), ("dir", "/a"))
        #expect(options.shown == ["dir": "/a"])
    }

    @Test func storedOptionsAreCheckedAgain() throws {
        let json = #"{"split":["4"],"no-such":["1"],"timeout":["x"],"header":["A: b","C: d"]}"#
        let options = try JSONDecoder().decode(Aria2Options.self, from: Data(json.utf8))
        #expect(options.values == ["split": ["4"], "header": ["A: b", "C: d"]])
        let again = try JSONDecoder().decode(Aria2Options.self, from: try JSONEncoder().encode(options))
        #expect(again == options)
    }

    @Test func zeroIsNoLimit() throws {
        #expect(try options(("max-download-limit", "0")).limit("max-download-limit") == nil)
        #expect(try options(("max-download-limit", "1K")).limit("max-download-limit") == 1024)
    }
}
