import Foundation
import Testing

@testable import HaulCore

struct SourceSelectorTests {
    private func mirror(_ name: String, _ priority: Int = 10, scheme: String = "https") -> Metalink.Source {
        .init(link("\(scheme)://\(name).example/f"), priority: priority)
    }

    private func book(_ mirrors: String...) -> SourceSelector {
        SourceSelector(link("https://home.example/f"), mirrors: mirrors.enumerated().map { mirror($1, $0 + 1) })
    }

    private func next(
        _ book: SourceSelector,
        open: [Int: Int],
        needsProof: Bool = false,
        mayAskMirrors: Bool = true,
        mayShareHome: Bool = true,
        fullHost: String? = nil
    ) -> Int? {
        book.next(open: open, needsProof: needsProof, mayAskMirrors: mayAskMirrors, mayShareHome: mayShareHome) {
            $0.host != fullHost
        }
    }

    private func host(_ book: SourceSelector) -> String { book.url.host ?? "" }

    @Test func takesUpMirrorsByPriorityAndEachOnce() {
        var book = SourceSelector(
            link("https://home.example/f"),
            mirrors: [mirror("b", 2), mirror("a", 1), mirror("b", 1), mirror("home", 1)]
        )
        #expect(book.sources.map { $0.url.host ?? "" } == ["home", "a", "b"].map { $0 + ".example" })
        book.add([mirror("a"), mirror("c")], insecureToo: true)
        #expect(book.sources.count == 4)
    }

    @Test func takesUpNoMoreThanItsMost() {
        let many = (0..<1000).map { mirror("m\($0)") }
        #expect(SourceSelector(link("https://home.example/f"), mirrors: many).sources.count == SourceSelector.most)
    }

    @Test func takesUpAnInsecureMirrorOfASecureFileOnlyWhenTold() {
        var book = book()
        book.add([mirror("a", scheme: "http")], insecureToo: false)
        #expect(book.isAlone)
        book.add([mirror("a", scheme: "http")], insecureToo: true)
        #expect(!book.isAlone)
        var insecure = SourceSelector(link("http://home.example/f"))
        insecure.add([mirror("a", scheme: "http")], insecureToo: false)
        #expect(!insecure.isAlone)
    }

    @Test func movesOnToWhoHasFailedLeastOften() {
        var book = book("a", "b")
        #expect(book.mirror == nil)
        #expect(book.moveOn(droppingHome: false) == true)
        #expect(host(book) == "a.example")
        #expect(book.mirror == book.url)
        #expect(book.moveOn(droppingHome: false) == true)
        #expect(host(book) == "b.example")
        // Each source has failed once now, so none is better.
        #expect(book.moveOn(droppingHome: false) == false)
        #expect(host(book) == "b.example")
    }

    @Test func keepsTheLastOneStanding() {
        var book = book("a")
        #expect(book.moveOn(droppingHome: true) == true)
        #expect(host(book) == "a.example")
        #expect(book.moveOn(droppingHome: true) == false)
        #expect(book.sources.contains { !$0.isDropped })
        #expect(host(book) == "a.example")
    }

    @Test func asksNoMirrorBesideTheHomeSourceWhereNoDigestProvesTheWhole() {
        let book = book("a", "b")
        #expect(next(book, open: [0: 1], mayAskMirrors: false) == 0)
        #expect(next(book, open: [0: 1], mayAskMirrors: false, mayShareHome: false) == nil)
    }

    @Test func asksEachSourceBeforeAnyTwice() {
        let book = book("a", "b")
        #expect(next(book, open: [0: 1], needsProof: false, mayShareHome: true) == 1)
        #expect(next(book, open: [0: 1, 1: 1], needsProof: false, mayShareHome: true) == 2)
        #expect(next(book, open: [0: 1, 1: 1, 2: 1], needsProof: false, mayShareHome: true) != nil)
    }

    @Test func givesAMirrorOneConnectionUntilItIsProven() {
        var book = book("a")
        #expect(next(book, open: [0: 1, 1: 1], needsProof: true, mayShareHome: false) == nil)
        book.prove(1)
        #expect(next(book, open: [0: 1, 1: 1], needsProof: true, mayShareHome: false) == 1)
    }

    @Test func asksTheFastestForEachConnectionThatItHas() {
        var book = book("a")
        book.note(100, of: 0)
        book.note(1000, of: 1)
        #expect(next(book, open: [0: 1, 1: 1], needsProof: false, mayShareHome: true) == 1)
        // A mirror gets only a few connections.
        #expect(next(book, open: [0: 1, 1: 50], needsProof: false, mayShareHome: true) == 0)
    }

    @Test func doesNotAskWhoIsDroppedOrFailedTwice() {
        var book = book("a", "b")
        book.drop(1)
        book.noteFailure(of: 2)
        book.noteFailure(of: 2)
        #expect(next(book, open: [0: 1], needsProof: false, mayShareHome: false) == nil)
        #expect(next(book, open: [0: 1], needsProof: false, mayShareHome: true) == 0)
        book.note(Validator(), of: 2)
        #expect(next(book, open: [0: 1], needsProof: false, mayShareHome: false) == 2)
    }

    @Test func keepsToTheHomeSourceOnceTheWholeWasWrong() {
        var book = book("a")
        #expect(book.discardPrimary() == true)
        #expect(book.isAlone)
        #expect(next(book, open: [0: 1], needsProof: false, mayShareHome: true) == 0)
        // The whole file was wrong again, this time with bytes of the primary source alone.
        #expect(book.discardPrimary() == true)
        #expect(host(book) == "a.example")
        #expect(book.discardPrimary() == false)
        book.renew()
        #expect(host(book) == "home.example" && !book.isAlone)
        #expect(book.sources.allSatisfy { !$0.isDropped && $0.failures == 0 })
    }

    @Test func passesOverAHostThatHasNoConnectionSlot() {
        let book = book("a", "b")
        #expect(next(book, open: [0: 1], fullHost: "a.example") == 2)
        #expect(next(book, open: [0: 1, 2: 1], fullHost: "home.example") == 1)
    }
}
