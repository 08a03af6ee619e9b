import NIOCore
import Testing

@testable import HaulCore
@testable import HaulKit

struct BufferedFileTests {
    private func file(_ text: String = "") throws -> BufferedFile {
        let file = BufferedFile("/d/a.haulpart", capacity: 16)
        try file.write([ByteBuffer(string: text)], at: 0)
        return file
    }

    @Test func holdsWhatIsWritten() throws {
        let file = try file("hello ")
        try file.write([ByteBuffer(string: "wo"), ByteBuffer(string: "rld")], at: 6)
        #expect(file.isInMemory)
        #expect(file.bytes.map(String.init(buffer:)) == "hello world")
        #expect(try file.read(at: 6, count: 100) == Array("world".utf8))
        #expect(try file.read(at: 600, count: 100) == [])
        #expect(try file.status().size == 11)
    }

    @Test func forgetsWhatIsCutOff() throws {
        let file = try file("hello")
        try file.truncate(2)
        #expect(file.bytes.map(String.init(buffer:)) == "he")
        try file.write([ByteBuffer(string: "y")], at: 2)
        #expect(file.bytes.map(String.init(buffer:)) == "hey")
    }

    @Test func cannotBeSyncedBeforeItIsOnTheDisk() throws {
        let file = try file("hello")
        #expect(throws: DiskError.self) { try file.sync() }
    }

    @Test(arguments: [-1, Int64.max - 2, BufferedFile.mostBytes - 2])
    func refusesWhatIsTooFarOut(_ offset: Int64) throws {
        let file = try file()
        #expect(throws: DiskError.self) { try file.write([ByteBuffer(string: "abc")], at: offset) }
    }

    @Test func goesOnOnTheDiskOnceItIsThere() throws {
        let disk = SimulatedDisk(seed: 1)
        let file = try file("hello ")
        let real = try disk.create("/d/a (1).haulpart")
        try file.move(into: real)
        #expect(!file.isInMemory && file.bytes == nil)
        #expect(file.path == "/d/a (1).haulpart")
        try file.write([ByteBuffer(string: "world")], at: 6)
        try file.sync()
        #expect(disk.content(file.path) == Array("hello world".utf8))
        #expect(try file.read(at: 0, count: 5) == Array("hello".utf8))
    }

    @Test func staysInMemoryWhereTheDiskDoesNotTakeIt() throws {
        let disk = SimulatedDisk(seed: 1)
        let file = try file("hello")
        let real = try disk.create("/d/a.haulpart")
        disk.fail("write", with: .full)
        #expect(throws: DiskError.self) { try file.move(into: real) }
        #expect(file.isInMemory)
        #expect(file.bytes.map(String.init(buffer:)) == "hello")
    }
}
