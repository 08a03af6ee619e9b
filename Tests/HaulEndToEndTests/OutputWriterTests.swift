import Foundation
import HaulKit
import Synchronization
import Testing

@testable import haul

/// Tests writing to readers that are slow, stop reading, or close the pipe.
@Suite(.timeLimit(.minutes(60)))
struct OutputWriterTests {
    /// A line longer than the capacity of any pipe.
    private static let long = String(repeating: "x", count: 300_000) + "\n"

    private func pipe(isBlocking: Bool = true) throws -> Pipe {
        signal(SIGPIPE, SIG_IGN)
        let pipe = Pipe()
        if !isBlocking {
            #expect(fcntl(pipe.fileHandleForWriting.fileDescriptor, F_SETFL, O_NONBLOCK) == 0)
        }
        return pipe
    }

    @Test func nobodyWaitsForAReaderThatStopped() throws {
        let pipe = try pipe()
        let writer = OutputWriter()
        for _ in 0..<200 { writer.put(Self.long, to: pipe.fileHandleForWriting.fileDescriptor) }
        #expect(writer.isBehind)
        var asked = 0
        let isAll = writer.finish {
            asked += 1
            return asked > 3
        }
        #expect(!isAll)
        #expect(writer.lost(pipe.fileHandleForWriting.fileDescriptor) > 0)
        // The writer's thread ends when the reader closes the pipe.
        try pipe.fileHandleForReading.close()
        #expect(writer.finish { false })
    }

    @Test(arguments: [true, false]) func writesEachLineWholeWhateverThePipeTakes(isBlocking: Bool) async throws {
        let pipe = try pipe(isBlocking: isBlocking)
        let writer = OutputWriter()
        let lines = (0..<40).map { "\($0) " + String(repeating: "y", count: 9_000 + $0) }
        let (texts, reader) = AsyncStream.makeStream(of: String.self)
        // The reader is a thread, because as tasks the readers of both cases could take all threads of the pool.
        Thread.detachNewThread {
            var read = Data()
            while read.count(where: { $0 == UInt8(ascii: "\n") }) < lines.count {
                read.append(pipe.fileHandleForReading.availableData)
            }
            reader.yield(String(decoding: read, as: UTF8.self))
            reader.finish()
        }
        await withTaskGroup(of: Void.self) { group in
            for line in lines {
                group.addTask { writer.put(line + "\n", to: pipe.fileHandleForWriting.fileDescriptor) }
            }
        }
        let text = try #require(await texts.first { _ in true })
        #expect(Set(text.split(separator: "\n").map(String.init)) == Set(lines))
    }

    @Test func countsWhatAReaderThatWentAwayDidNotTake() throws {
        let pipe = try pipe()
        try pipe.fileHandleForReading.close()
        let writer = OutputWriter()
        let descriptor = pipe.fileHandleForWriting.fileDescriptor
        for _ in 0..<5 { writer.put("line\n", to: descriptor) }
        #expect(writer.finish { false })
        #expect(writer.lost(descriptor) == 5)
    }

    @Test func printsOnItsCallersWhileThereIsNoThread() async throws {
        let pipe = try pipe()
        let descriptor = pipe.fileHandleForWriting.fileDescriptor
        let asked = Mutex(0)
        let writer = OutputWriter(startThread: { body in
            let isTooEarly = asked.withLock {
                $0 += 1
                return $0 <= 20
            }
            return isTooEarly ? EAGAIN : DetachedThread.start(body)
        })
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<20 { group.addTask { writer.put("\(number)\n", to: descriptor) } }
        }
        #expect(writer.finish { false })
        // The writer's thread starts now.
        for number in 20..<40 { writer.put("\(number)\n", to: descriptor) }
        #expect(writer.finish { false })
        try pipe.fileHandleForWriting.close()
        let text = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        #expect(text.split(separator: "\n").compactMap { Int($0) }.sorted() == Array(0..<40))
    }
}
