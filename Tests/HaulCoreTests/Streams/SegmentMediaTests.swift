import Testing

@testable import HaulCore

/// Media by its bytes (rule 20).
struct SegmentMediaTests {
    private func judge(_ bytes: [UInt8], length: Int? = nil, as role: SegmentMedia.Role = .segment) -> SegmentMedia? {
        try? SegmentMedia.judge(bytes, length: Int64(length ?? bytes.count), as: role)
    }

    private func box(_ type: String, _ size: Int, body: Int? = nil) -> [UInt8] {
        let head = (0..<4).map { UInt8(truncatingIfNeeded: size >> (24 - 8 * $0)) } + Array(type.utf8)
        return head + [UInt8](repeating: 0, count: body ?? size - 8)
    }

    private func packets(_ count: Int) -> [UInt8] {
        (0..<count).flatMap { _ in [0x47] + [UInt8](repeating: 1, count: 187) }
    }

    private func tag(_ size: UInt8) -> [UInt8] {
        Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, size] + [UInt8](repeating: 0, count: Int(size))
    }

    @Test func knowsATransportStream() {
        #expect(judge(packets(1)) == .transportStream && judge(packets(9)) == .transportStream)
        #expect(judge(Array(packets(9).prefix(1000)), length: 5000) == .transportStream)
        #expect(judge(tag(5) + packets(3)) == .transportStream)
        #expect(judge(packets(1), as: .initialization) == .transportStream)
    }

    @Test func findsWhereATransportStreamBreaksOff() {
        var bytes = packets(9)
        bytes[188 * 4] = 0
        #expect(throws: SegmentMedia.Refusal(description: "its transport stream breaks off at byte 752")) {
            try SegmentMedia.judge(bytes, length: Int64(bytes.count))
        }
        #expect(judge(Array("GET me".utf8) + [UInt8](repeating: 0x20, count: 400)) == nil)
    }

    @Test func knowsWholeBoxes() {
        #expect(judge(box("styp", 16) + box("moof", 100) + box("mdat", 1000)) == .fragmentedMP4)
        #expect(judge(box("moof", 100) + box("mdat", 0, body: 50)) == .fragmentedMP4)
        #expect(judge(box("ftyp", 16) + box("moov", 100), as: .initialization) == .fragmentedMP4)
        #expect(judge(box("moof", 100) + box("mdat", 5000, body: 92), length: 5100) == .fragmentedMP4)
        let large: [UInt8] = [0, 0, 0, 1] + Array("mdat".utf8) + [0, 0, 0, 0, 0, 0, 0, 20, 1, 2, 3, 4]
        #expect(judge(box("moof", 8) + large) == .fragmentedMP4)
    }

    @Test func refusesBoxesThatDoNotMakeUpTheLength() {
        #expect(judge(box("moof", 100) + box("mdat", 101, body: 92)) == nil)
        #expect(judge(box("moof", 100) + [0, 0, 0]) == nil)
        #expect(judge(box("moof", 100) + [0, 0, 0, 4] + Array("mdat".utf8)) == nil)
        #expect(judge(box("moof", 100) + [0, 0, 0, 8, 0, 1, 2, 3]) == nil)
        #expect(judge(box("moof", 100) + box("mdat", 5000, body: 92), length: 5000) == nil)
        let endless: [UInt8] = [0, 0, 0, 1] + Array("mdat".utf8) + [UInt8](repeating: 0xFF, count: 8)
        #expect(judge(box("moof", 100) + endless) == nil)
        #expect(judge(box("moof", 100) + [0, 0, 0, 1] + Array("mdat".utf8) + [0, 0, 0, 0, 0, 0, 0, 8]) == nil)
    }

    @Test func wantsTheBoxOfTheRole() {
        #expect(judge(box("ftyp", 16) + box("moov", 100)) == nil)
        #expect(judge(box("moof", 100) + box("mdat", 100), as: .initialization) == nil)
    }

    @Test(arguments: [
        ([0xFF, 0xF1, 0x50, 0x80], SegmentMedia.Audio.aac), ([0xFF, 0xF9, 0x50, 0x80], .aac),
        ([0xFF, 0xFB, 0x90, 0x64], .mp3),
        ([0xFF, 0xF3, 0x90, 0x64], .mp3), ([0x0B, 0x77, 0, 0, 0, 0x40], .ac3), ([0x0B, 0x77, 0, 0, 0, 0x80], .eac3),
    ])
    func knowsPackedAudio(_ head: [UInt8], _ audio: SegmentMedia.Audio) {
        #expect(judge(head) == .packedAudio(audio))
        #expect(judge(tag(20) + head) == .packedAudio(audio))
        #expect(judge(tag(1) + tag(2) + head) == .packedAudio(audio))
    }

    @Test func asksForSoundBehindATag() {
        #expect(judge(tag(20)) == nil)
        #expect(judge(tag(20) + Array("<html>".utf8)) == nil)
        #expect(judge(Array(tag(100).prefix(50)), length: 5000) == .packedAudio(.unknown))
        #expect(judge(Array("ID3".utf8) + [4, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF]) == nil)
        #expect(judge(Array("ID3".utf8)) == nil)
    }

    @Test func knowsWebVTT() {
        for text in ["WEBVTT", "WEBVTT\nX-TIMESTAMP-MAP=", "WEBVTT - x\n", "\u{FEFF}WEBVTT\r\n"] {
            #expect(judge(Array(text.utf8)) == .webVTT)
        }
        #expect(judge(Array("WEBVTTX".utf8)) == nil)
    }

    @Test(arguments: [
        ("", "it is empty"), ("<!DOCTYPE html><title>Sign in</title>", "it is a page of text, not media"),
        ("#EXTM3U\n", "it is a playlist, not media"), ("{\"error\":403}", "it is no media that Haul knows"),
    ])
    func saysWhatCameInPlaceOfMedia(_ text: String, _ reason: String) {
        #expect(throws: SegmentMedia.Refusal(description: reason)) {
            try SegmentMedia.judge(Array(text.utf8), length: Int64(text.utf8.count))
        }
    }

    @Test func judgesAnyBytes() {
        var generator = SplitMix64(seed: 28)
        let heads: [[UInt8]] = [[], [0x47], Array("ID3".utf8), box("moof", 8), box("styp", 8), [0xFF], [0, 0, 0, 1]]
        for _ in 0..<5000 {
            var bytes = heads.randomElement(using: &generator) ?? []
            for _ in 0..<Int.random(in: 0...400, using: &generator) {
                bytes.append(Bool.random(using: &generator) ? 0x47 : UInt8.random(in: 0...255, using: &generator))
            }
            for length in [Int64(bytes.count), .max, 0, Int64.random(in: 0...1000, using: &generator)] {
                _ = try? SegmentMedia.judge(bytes[...], length: length)
                bytes.withUnsafeBytes { _ = try? SegmentMedia.judge($0, length: length, as: .initialization) }
            }
        }
    }
}
