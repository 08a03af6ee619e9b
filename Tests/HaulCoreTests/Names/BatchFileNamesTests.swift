import Foundation
import Testing

@testable import HaulCore

struct BatchFileNamesTests {
    private func requests(_ urls: String..., into folder: String = "/d") throws -> [DownloadRequest] {
        try urls.map { DownloadRequest(try #require(URL(string: $0)), to: .folder(path: folder)) }
    }

    @Test func leavesNamesAloneThatDiffer() throws {
        let list = try requests("http://h/a.bin", "http://h/b.bin", "http://h/c/")
        let names = BatchFileNames(list)
        #expect(names.requests == list)
        #expect(names.shared.isEmpty && names.refused.isEmpty)
    }

    @Test func numbersWhatIsCalledTheSameInTheOrderOfTheList() throws {
        let names = BatchFileNames(
            try requests("http://h/1/a.bin", "http://h/b.bin", "http://h/2/a.bin", "http://other/a.bin")
        )
        #expect(names.requests.map(\.suggestedName) == [nil, nil, "a (1).bin", "a (2).bin"])
        #expect(names.shared == [.init(path: "/d/a.bin", count: 3)])
    }

    @Test func givesNoNameThatAnotherLineHas() throws {
        let names = BatchFileNames(try requests("http://h/1/a.bin", "http://h/2/a.bin", "http://h/a%20(1).bin"))
        #expect(names.requests.map(\.suggestedName) == [nil, "a (2).bin", nil])
    }

    @Test func refusesAPathThatAnotherLineHas() throws {
        var list = try requests("http://h/b", "http://h/b", into: "/a")
        list[1].destination = .file(path: "/a/b")
        let refused = BatchFileNames(list).refused
        #expect(refused.keys.sorted() == [1])
        #expect(refused[1]?.message == "The list names /a/b twice. Give one of them another name.")
    }

    @Test func takesTheSameURLTwiceForOneDownload() throws {
        let names = BatchFileNames(
            try requests("http://h/1/a.bin", "http://h/2/a.bin", "http://h/1/a.bin", "http://h/2/a.bin")
        )
        #expect(names.requests.map(\.suggestedName) == [nil, "a (1).bin", nil, "a (1).bin"])
        #expect(names.shared == [.init(path: "/d/a.bin", count: 2)])
    }

    @Test func numbersTitlesThatBecomeTheSameNameInTheOrderOfTheList() throws {
        var list = try requests("http://h/1", "http://h/2", "http://h/3", "http://h/4")
        for (index, title) in ["A/B", "A_B", "A:B", "other"].enumerated() { list[index].suggestedName = title }
        let names = BatchFileNames(list)
        #expect(names.requests.map(\.suggestedName) == ["A/B", "A_B (1)", "A_B (2)", "other"])
        #expect(names.shared == [.init(path: "/d/A_B", count: 3)])
    }

    @Test func tellsFoldersApart() throws {
        let list = try requests("http://h/1/a.bin") + requests("http://h/2/a.bin", into: "/e")
        #expect(BatchFileNames(list).requests == list)
    }

    @Test func refusesASecondURLForANamedFile() throws {
        var list = try requests("http://h/1/a.bin", "http://h/2/b.bin", "http://h/1/a.bin")
        for index in list.indices { list[index].destination = .file(path: "/d/x") }
        let names = BatchFileNames(list)
        #expect(names.refused.keys.sorted() == [1])
        #expect(names.refused[1]?.code == .inUse)
        #expect(names.refused[1]?.message.contains("/d/x") == true)
    }

    @Test func leavesToTheAnswerWhatTheURLDoesNotSay() throws {
        let list = try requests("http://h/?id=1", "http://h/?id=2")
        #expect(BatchFileNames(list).requests == list)
    }
}
