import Testing

@testable import HaulCore

struct MovieDurationTests {
    private func seconds(_ bytes: [UInt8]) -> Double? {
        MovieDuration.seconds(length: Int64(bytes.count)) { Array(bytes[Int($0.lowerBound)..<Int($0.upperBound)]) }
    }

    private func header(version: UInt8) -> [UInt8] {
        var fields = [UInt8](repeating: 0, count: version == 1 ? 16 : 8)
        fields.append(bigEndian: UInt32(1000))
        if version == 1 { fields.append(bigEndian: UInt64(90_500)) } else { fields.append(bigEndian: UInt32(90_500)) }
        return [UInt8].box("moov", [UInt8].fullBox("mvhd", version: version, fields))
    }

    @Test(arguments: [0, 1] as [UInt8]) func readsTheDurationBehindTheMedia(_ version: UInt8) {
        let media = [UInt8].box("ftyp", Array("isom".utf8)) + [UInt8].box("mdat", [UInt8](repeating: 7, count: 1000))
        #expect(seconds(media + header(version: version)) == 90.5)
    }

    @Test func findsNoneInOtherBytes() {
        #expect(seconds([]) == nil)
        #expect(seconds(Array("film".utf8)) == nil)
        #expect(seconds([UInt8].box("ftyp", Array("isom".utf8))) == nil)
        #expect(seconds(Array(header(version: 0).dropLast(4))) == nil)
    }
}
