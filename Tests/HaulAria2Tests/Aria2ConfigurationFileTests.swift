import Testing

@testable import HaulAria2
@testable import HaulServer

@Suite struct Aria2ConfigurationFileTests {
    private func file(_ text: String) throws -> Aria2ConfigurationFile { try Aria2ConfigurationFile(Array(text.utf8)) }

    @Test func readsNamesAndValues() throws {
        let file = try file("# comment\ndir=/d\n\nsplit = 4 \nheader=A: b=c\nheader=D: e\nbogus=1\nno sense\n")
        #expect(file.options.values == ["dir": ["/d"], "split": ["4"], "header": ["A: b=c", "D: e"]])
        #expect(file.unknownOptions == ["bogus=1", "no sense"])
    }

    @Test func aBadValueIsAnErrorWithStatus28() throws {
        #expect(try #require(throws: Aria2Error.self) { try file("split=x\n") }.code == .badOption)
    }

    @Test func isLookedForWhereAria2Does() {
        let old = "/h/.aria2/aria2.conf"
        #expect(Aria2ConfigurationFile.path(home: "/h", environment: [:]) { $0 == old } == old)
        #expect(
            Aria2ConfigurationFile.path(home: "/h", environment: [:]) { _ in false } == "/h/.config/aria2/aria2.conf"
        )
        let configured = Aria2ConfigurationFile.path(home: "/h", environment: ["XDG_CONFIG_HOME": "/c"]) { _ in false }
        #expect(configured == "/c/aria2/aria2.conf")
        let relative = Aria2ConfigurationFile.path(home: "/h", environment: ["XDG_CONFIG_HOME": "c"]) { _ in false }
        #expect(relative == "/h/.config/aria2/aria2.conf")
    }
}
