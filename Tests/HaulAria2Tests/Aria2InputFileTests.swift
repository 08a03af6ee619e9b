import Foundation
import HaulTesting
import Testing

@testable import HaulAria2
@testable import HaulServer

@Suite struct Aria2InputFileTests {
    private func file(_ text: String, isSequential: Bool = false) throws -> Aria2InputFile {
        try Aria2InputFile(Array(text.utf8), isSequential: isSequential)
    }

    @Test func readsURIsOfOneFileAndTheirOptions() throws {
        let file = try file(
            """
            # a comment
            http://a/x\thttp://b/x\t
              dir=/d
              out=name with blanks.iso
             # no option
            \tsplit = 4

            http://c/y\r
            """
        )
        #expect(file.requests.map(\.uris) == [["http://a/x", "http://b/x"], ["http://c/y"]])
        #expect(file.requests[0].options.values == ["dir": ["/d"], "out": ["name with blanks.iso"], "split": ["4"]])
        #expect(file.requests[1].options.isEmpty)
    }

    @Test func eachURIIsADownloadOfItsOwnInSequence() throws {
        let file = try file("http://a/x\thttp://b/y\n dir=/d\n", isSequential: true)
        #expect(file.requests.map(\.uris) == [["http://a/x"], ["http://b/y"]])
        #expect(file.requests.map { $0.options["dir"] } == ["/d", "/d"])
    }

    @Test func unknownOptionsAreNamedAndThoseOfTheProcessPassedOver() throws {
        let file = try file("http://a/x\n bogus=1\n max-concurrent-downloads=9\n")
        #expect(file.unknownOptions == ["bogus=1"])
        #expect(file.requests[0].options.isEmpty)
    }

    @Test func aBadValueIsAnErrorWithStatus28() throws {
        let error = try #require(throws: Aria2Error.self) { try file("http://a/x\n split=x\n") }
        #expect(error.code == .badOption)
        #expect(error.message == "We encountered a problem while processing the option '--split'.")
    }

    @Test func optionsWithoutURIsAndEmptyFilesAreNoDownloads() throws {
        #expect(try file("").requests.isEmpty)
        #expect(try file(" dir=/d\n").requests.isEmpty)
        #expect(try file("\n\n\t\n").requests.isEmpty)
    }

    @Test func aLineIsNotWithoutEnd() {
        #expect(throws: Aria2Error.self) { try file("http://a/" + String(repeating: "x", count: 2 << 20)) }
    }

    @Test func oddBytesDoNoHarm() throws {
        let odd: [UInt8] = [0xFF, 0xFE, 0x80, 0x0A, 0x20, 0x3D, 0x0A, 0x09, 0x09]
        #expect(try Aria2InputFile(Array("http://a/x".utf8) + odd).requests.count == 1)
        // In a path the same bytes are refused.
        #expect(throws: Aria2Error.self) { try Aria2InputFile(Array("http://a/x\n out=".utf8) + odd) }
        #expect(throws: Aria2Error.self) { try file("http://a/x\n out=a\0b\n") }
    }

    @Test func aFileThatIsNotThereIsAnErrorWithStatus1() throws {
        let error = try #require(throws: Aria2Error.self) { try Aria2InputFile(path: "/nonexistent/list") }
        #expect(error.code == .unknown)
    }

    // MARK: Session files

    @Test func whatIsSavedIsReadAgain() throws {
        var options = Aria2Options()
        try options.set("dir", "/d")
        try options.set("header", "A: b")
        try options.set("header", "C: d")
        let gid = try #require(GID("0123456789abcdef"))
        let row = Aria2SessionFile.Row(gid: gid, uris: ["http://a/x", "http://b/x"], options: options, status: .paused)
        let data = Aria2SessionFile.contents([row])
        #expect(
            String(decoding: data, as: UTF8.self)
                == "http://a/x\thttp://b/x\t\n gid=0123456789abcdef\n pause=true\n dir=/d\n header=A: b\n header=C: d\n"
        )
        let request = try #require(try Aria2InputFile(data).requests.first)
        #expect(request.uris == ["http://a/x", "http://b/x"])
        #expect(request.options["gid"] == "0123456789abcdef")
        #expect(request.options.flag("pause"))
        #expect(request.options.list("header") == ["A: b", "C: d"])
    }

    @Test func savesWhatIsNotCompleteAndWhatIsForced() throws {
        var forced = Aria2Options()
        try forced.set("force-save", "true")
        let gid = GID.random()
        func isSaved(
            _ status: Aria2SessionFile.Row.Status,
            _ options: Aria2Options = Aria2Options(),
            notFound: Bool = true
        ) -> Bool {
            let row = Aria2SessionFile.Row(gid: gid, uris: ["http://a/x"], options: options, status: status)
            return Aria2SessionFile.isSaved(row, savesNotFound: notFound)
        }
        #expect(isSaved(.active) && isSaved(.waiting) && isSaved(.paused) && isSaved(.failed(.network)))
        #expect(isSaved(.failed(.notFound)) && !isSaved(.failed(.notFound), notFound: false))
        #expect(!isSaved(.complete) && !isSaved(.removed))
        #expect(isSaved(.complete, forced) && isSaved(.removed, forced))
    }

    @Test func aLineBreakInAValueBeginsNoOtherLine() throws {
        var options = Aria2Options()
        try options.set("referer", "a\n dir=/etc\nhttp://evil/x")
        let row = Aria2SessionFile.Row(gid: .random(), uris: ["http://a/x\n out=y"], options: options, status: .waiting)
        let file = try Aria2InputFile(Aria2SessionFile.contents([row]))
        #expect(file.requests.count == 1)
        #expect(file.requests[0].options["dir"] == nil && file.requests[0].options["out"] == nil)
    }

    @Test func theFileIsItsOwnersAlone() throws {
        let folder = try TemporaryFolder()
        try Aria2SessionFile.write(Data("x".utf8), to: folder("session"))
        try Aria2SessionFile.write(Data("yy".utf8), to: folder("session"))
        let attributes = try FileManager.default.attributesOfItem(atPath: folder("session"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try folder.names == ["session"])
        #expect(throws: Aria2Error.self) { try Aria2SessionFile.write(Data(), to: folder("no/such/folder")) }
    }
}
