import Testing

@testable import HaulCore

struct ISOBoxesTests {
    private func header(_ bytes: [UInt8], available: Int64) throws(MediaError) -> BoxHeader {
        try BoxHeader(bytes[...], available: available, position: 0)
    }

    private let free: [UInt8] = Array("free".utf8)

    @Test func readsSizesOf32And64BitsAndToTheEnd() throws {
        #expect(try header([0, 0, 0, 20] + free, available: 99).length == 20)
        #expect(try header([0, 0, 0, 0] + free, available: 99).length == 99)
        let long = try header([0, 0, 0, 1] + free + [0, 0, 0, 1, 0, 0, 0, 0], available: 1 << 33)
        #expect(long.length == 1 << 32 && long.headerLength == 16)
        #expect(try header([0, 0, 0, 30] + Array("uuid".utf8), available: 99).headerLength == 24)
    }

    @Test(
        arguments: [
            [0, 0, 0, 7], [0, 0, 0, 100], [0, 0, 0, 1], [0xff, 0xff, 0xff, 0xff],
        ] as [[UInt8]]
    )
    func refusesASizeThatCannotBe(_ size: [UInt8]) {
        #expect(throws: MediaError.self) { try header(size + free, available: 99) }
        let long = [0, 0, 0, 1] + free + [UInt8](repeating: 0xff, count: 8)
        #expect(throws: MediaError.truncated("free")) { try header(long, available: .max) }
    }

    @Test func refusesBytesThatAreNoBox() {
        #expect(throws: MediaError.notABox(position: 0)) { try header([0, 0, 0, 8, 0, 1, 2, 3], available: 8) }
        #expect(throws: MediaError.notABox(position: 0)) { try header([0, 0, 0], available: 3) }
    }

    @Test func readsAtMostSoManyBoxes() throws {
        let boxes = [[UInt8]](repeating: .box("free", []), count: 5).flatMap { $0 }
        #expect(try Box.all(in: boxes[...], limit: 5).count == 5)
        #expect(throws: MediaError.tooMany("free")) { try Box.all(in: boxes[...], limit: 4) }
    }

    @Test func writesAHeaderOf64BitsBeyond4GiB() {
        #expect([UInt8].mediaDataHeader(contentLength: 8) == [0, 0, 0, 16] + Array("mdat".utf8))
        let long = [UInt8].mediaDataHeader(contentLength: 1 << 32)
        #expect(long == [0, 0, 0, 1] + Array("mdat".utf8) + [0, 0, 0, 1, 0, 0, 0, 16])
    }
}
