import Testing

@testable import haul

/// Tests which lines are printed and which are dropped when nobody reads the output.
@Suite struct OutputQueueTests {
    private func line(_ text: String, _ descriptor: Int32 = 1) -> OutputQueue.Line {
        .init(text: text, descriptor: descriptor)
    }

    private func all(_ queue: inout OutputQueue) -> [String] {
        var texts: [String] = []
        while let line = queue.next() { texts.append(line.text) }
        return texts
    }

    @Test func keepsOnlyTheNewestProgressOfADownload() {
        var queue = OutputQueue()
        queue.put(line("a 1"), .progress(of: "a"))
        queue.put(line("b 1"), .progress(of: "b"))
        queue.put(line("a 2"), .progress(of: "a"))
        queue.put(line("a 3"), .progress(of: "a"))
        #expect(all(&queue) == ["a 3", "b 1"])
        #expect(queue.waitingBytes == 0)
    }

    @Test func newerProgressDoesNotOvertakeAChangeOfState() {
        var queue = OutputQueue()
        queue.put(line("a 1"), .progress(of: "a"))
        queue.put(line("a waits"), .passing, of: "a")
        queue.put(line("a 2"), .progress(of: "a"))
        queue.put(line("a ended"), .end, of: "a")
        #expect(all(&queue) == ["a 1", "a waits", "a 2", "a ended"])
    }

    @Test func replacesProgressAfterLinesBeforeItWereTaken() {
        var queue = OutputQueue()
        queue.put(line("first"), .end)
        queue.put(line("a 1"), .progress(of: "a"))
        #expect(queue.next()?.text == "first")
        queue.put(line("a 2"), .progress(of: "a"))
        #expect(queue.next()?.text == "a 2")
        queue.put(line("a 3"), .progress(of: "a"))
        #expect(all(&queue) == ["a 3"])
    }

    @Test func dropsProgressFirstThenChangesAndEndsLast() {
        var queue = OutputQueue(.init(progress: 10, passing: 20, end: 30))
        for number in 0..<100 {
            queue.put(line("p\(number) "), .progress(of: "\(number)"))
            queue.put(line("c\(number) "), .passing)
            queue.put(line("e\(number) ", 2), .end)
        }
        #expect(queue.waitingBytes < 40)
        let texts = all(&queue)
        #expect(texts.count { $0.hasPrefix("p") } < texts.count { $0.hasPrefix("e") })
        #expect(queue.dropped[2] == 100 - texts.count { $0.hasPrefix("e") })
        #expect(queue.dropped[1] == nil)
    }

    @Test func takesLinesAgainWhenTheReaderHasCaughtUp() {
        var queue = OutputQueue(.init(progress: 10, passing: 10, end: 10))
        for number in 0..<20 { queue.put(line("line \(number)"), .end) }
        #expect(all(&queue).count == 2)
        queue.put(line("later"), .end)
        #expect(all(&queue) == ["later"])
    }
}
