import Testing

@testable import HaulCore

struct SegmentScanTests {
    /// Scans a file and returns the bytes that were read.
    private func read(_ file: [UInt8]) throws -> (bytes: Int, fragments: [StoredFragment]) {
        var scan = SegmentScan(source: 0, range: 0..<Int64(file.count))
        var read = 0
        while let wanted = scan.wanted {
            read += wanted.count
            try scan.take(Array(file[Int(wanted.lowerBound)..<Int(wanted.upperBound)]))
        }
        return (read, scan.fragments)
    }

    @Test func readsNoMediaData() throws {
        let segment = TestFragment(at: 0, [[UInt8](repeating: 7, count: 1 << 20)]).bytes
        let (bytes, fragments) = try read(segment + segment)
        #expect(bytes <= 2 * Int(SegmentScan.readLength))
        #expect(fragments.map(\.dataLength) == [1 << 20, 1 << 20])
    }

    @Test func readsADescriptionLongerThanOneRead() throws {
        let segment = TestFragment(at: 0, [[UInt8]](repeating: [1], count: 20_000)).bytes
        #expect(try read(segment).fragments.map(\.dataLength) == [20_000])
    }

    @Test func passesOverBoxesThatCountForTheSegmentAlone() throws {
        let head = ["styp", "sidx", "prft", "emsg"].flatMap { (type: BoxType) in [UInt8].box(type, [0, 0, 0, 0]) }
        let fragments = try read(head + TestFragment(at: 0, [[1]]).bytes).fragments
        #expect(fragments.map(\.moofPosition) == [48])
    }

    @Test func takesMediaDataToTheEnd() throws {
        var segment = TestFragment(at: 0, [[1, 2]]).bytes
        segment.write(bigEndian: UInt32(0), at: segment.count - 10)
        #expect(try read(segment).fragments.map(\.dataLength) == [2])
    }

    @Test func refusesASegmentThatIsCutOff() {
        let segment = TestFragment(at: 0, [[1, 2]]).bytes
        for length in 0..<segment.count {
            // Between the boxes the fragment lacks its data, which its samples show.
            guard length != segment.count - 10 else { continue }
            #expect(throws: MediaError.self) { try read(Array(segment.prefix(length))) }
        }
    }

    @Test func refusesAPage() {
        let page = Array("<!DOCTYPE html><p>Not found".utf8)
        #expect(throws: MediaError.notABox(position: 0)) { try read(page) }
    }

    @Test func refusesMediaDataWithoutADescriptionAndTooMuchOfIt() {
        #expect(throws: MediaError.missing("moof", in: "segment")) { try read(.box("mdat", [1])) }
        let many = [[UInt8]](repeating: .box("mdat", [1]), count: 100).flatMap { $0 }
        #expect(throws: MediaError.tooMany("mdat")) { try read([UInt8].box("moof", []) + many) }
        var scan = SegmentScan(source: 0, range: 0..<(1 << 40))
        let huge = [2, 0, 0, 0] + Array("moof".utf8) + TestMovie.zeros(Int(SegmentScan.readLength) - 8)
        #expect(throws: MediaError.tooLarge("moof", bytes: 2 << 24)) { try scan.take(huge) }
    }
}
