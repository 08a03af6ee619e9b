import HaulAria2
import HaulServer
import Testing

@testable import haul

/// Tests that the command line of `aria2c` is parsed as `getopt_long` parses it.
@Suite struct Aria2CommandLineTests {
    private func read(_ words: String...) throws(Aria2CommandLine.Failure) -> Aria2CommandLine {
        try Aria2CommandLine(words)
    }

    @Test func valuesFollowNamesInEveryForm() throws {
        let line = try read(
            "--split=3",
            "http://a/x",
            "--dir",
            "/d",
            "-x16",
            "-k",
            "1M",
            "-ofile",
            "--",
            "-z",
            "http://b/x"
        )
        #expect(line.options["split"] == "3")
        #expect(line.options["dir"] == "/d")
        #expect(line.options["max-connection-per-server"] == "16")
        #expect(line.options["min-split-size"] == "1048576")
        #expect(line.options["out"] == "file")
        #expect(line.arguments == ["http://a/x", "-z", "http://b/x"])
    }

    @Test func flagsTakeAValueOnlyWhereItIsAttached() throws {
        let line = try read("-c", "--allow-overwrite", "true", "-qfalse", "--remote-time=false")
        #expect(line.options["continue"] == "true")
        #expect(line.options["allow-overwrite"] == "true")
        #expect(line.options["quiet"] == "false")
        #expect(line.options["remote-time"] == "false")
        #expect(line.arguments == ["true"])
    }

    @Test func namesMayBeCutWhereTheyStayUnique() throws {
        #expect(try read("--sp=3").options["split"] == "3")
        let error = #expect(throws: Aria2CommandLine.Failure.self) { try read("--max-d=1") }
        #expect(error?.sentence.hasPrefix("option '--max-d' is ambiguous; possibilities:") == true)
        #expect(try read("--header=A: b", "--header", "C: d").options.list("header") == ["A: b", "C: d"])
    }

    @Test(arguments: [["--bogus"], ["-z"], ["--split"], ["-x"], ["-x17"], ["--continue=maybe"], ["-cq"], ["--="]])
    func badWordsAreRefused(_ words: [String]) {
        #expect(throws: Aria2CommandLine.Failure.self) { try Aria2CommandLine(words) }
    }

    @Test func aDashAloneIsNoOption() throws { #expect(try read("-i", "-").options["input-file"] == "-") }

    @Test func versionAndHelpAreNoDownloads() throws {
        #expect(try read("-v").wantsVersion)
        #expect(try read("--version", "x").wantsVersion)
        #expect(try read("-h").help == "#basic")
        #expect(try read("-h#http").help == "#http")
        #expect(try read("--help=split").help == "split")
    }

    @Test func rootsAreHaulsOwn() throws {
        #expect(try read("--haul-root=/a", "--haul-root", "/b").roots == ["/a", "/b"])
    }

    @Test func theNameOfTheProgramMakesItAria2() {
        #expect(Aria2Command.words(["/usr/bin/aria2c", "-v"]) == ["-v"])
        #expect(Aria2Command.words(["aria2c"]) == [])
        #expect(Aria2Command.words(["haul", "aria2c", "x"]) == ["x"])
        #expect(Aria2Command.words(["haul", "get", "aria2c"]) == nil)
        #expect(Aria2Command.words([]) == nil)
    }
}
