import Testing

@testable import HaulCore

struct SegmentTimesTests {
    private func times(_ bytes: [UInt8], section: [UInt8]? = nil) -> SegmentTimes {
        SegmentTimes(section: section, length: Int64(bytes.count)) {
            Array(bytes[Int($0.lowerBound)..<Int($0.upperBound)])
        }
    }

    @Test func readsFragments() {
        // Two samples of 100 ticks each, and the clock of the test's pictures.
        let segment = TestFragment(at: 3000, [[1], [2]]).bytes + TestFragment(at: 3200, [[3], [4]]).bytes
        let clock = Double(TestMovie.picture.timescale)
        let times = times(segment, section: TestMovie.picture.initSection)
        #expect(times.start == 3000 / clock && times.end == 3400 / clock)
        #expect(times.formats?.map(\.isPicture) == [true])
    }

    @Test func readsTheTimeOfPackedSound() {
        let name = Array("com.apple.streaming.transportStreamTimestamp".utf8) + [0]
        let content = name + [0, 0, 0, 1, 0, 0, 0, 90]
        let frame = Array("PRIV".utf8) + [0, 0, 0, UInt8(content.count), 0, 0] + content
        let tag = Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, UInt8(frame.count)] + frame
        let stereo = times(tag + [0xFF, 0xF1, 0x50, 0x80])
        #expect(stereo.start == Double(1 << 32 + 90) / 90_000 && stereo.formats?.map(\.isPicture) == [false])
    }

    @Test func comparesTheParametersOfSound() throws {
        func format(_ bytes: [UInt8]) -> SampleFormat { SampleFormat(packed: bytes[...]) }
        let stereo = format([0xFF, 0xF1, 0x50, 0x80, 1, 2])
        #expect(stereo.fits(format([0xFF, 0xF0, 0x52, 0x80, 3, 4]), isSelfContained: false))
        for other in [[0xFF, 0xF1, 0x4C, 0x80], [0xFF, 0xF1, 0x50, 0x40]] as [[UInt8]] {
            #expect(!stereo.fits(format(other), isSelfContained: false))
            #expect(stereo.fits(format(other), isSelfContained: true))
        }
        let picture = try FragmentedMovie(TestMovie.picture.initSection).tracks[0]
        #expect(try !stereo.fits(#require(SampleFormat(picture)), isSelfContained: true))
        // Nothing is known.
        #expect(stereo.fits(format([1, 2]), isSelfContained: false))
    }

    @Test(arguments: [[], [0x47], Array("ID3".utf8), [UInt8](repeating: 0x47, count: 188), Array("<html>".utf8)])
    func saysNothingOfWhatIsNoMedia(_ bytes: [UInt8]) {
        #expect(times(bytes) == SegmentTimes())
        #expect(times(bytes, section: [1, 2, 3]) == SegmentTimes())
        #expect(times(bytes, section: TestMovie.picture.initSection).start == nil)
    }
}
