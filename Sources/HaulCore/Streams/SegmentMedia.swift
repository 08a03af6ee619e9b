/// The container of a segment, recognized by its bytes. A sign-in page, an error text or a playlist is no container.
package enum SegmentMedia: Sendable, Hashable {
    case transportStream
    case fragmentedMP4
    case packedAudio(Audio)
    case webVTT

    package enum Audio: String, Sendable, Hashable, Codable {
        /// `unknown` if the metadata before the sound is longer than the examined bytes.
        case aac, mp3, ac3, eac3, unknown
    }

    /// Kind of resource that the bytes belong to.
    package enum Role: Sendable, Hashable { case segment, initialization }

    /// The reason why bytes are no media, as a clause for a sentence.
    package struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
        package let description: String
    }

    /// Judges the decrypted bytes of a segment or initialization section.
    ///
    /// - Parameters:
    ///   - bytes: the first bytes, at least 16 KiB if there are as many. Boxes and packets are checked as far as the
    ///     bytes go, so the whole body makes the check complete.
    ///   - length: the length of the whole body.
    package static func judge(
        _ bytes: some RandomAccessCollection<UInt8>,
        length: Int64,
        as role: Role = .segment
    ) throws(Refusal) -> SegmentMedia {
        guard length > 0, !bytes.isEmpty else { throw Refusal(description: "it is empty") }
        if let movie = try BoxWalk.judge(bytes, length: length, as: role) { return movie }
        if role == .initialization {
            // A transport stream begins with its tables; ffmpeg and the RFC allow them as a section.
            if try isTransportStream(bytes) { return .transportStream }
            throw refusal(bytes)
        }
        if isWebVTT(bytes) { return .webVTT }
        let (sound, hasTag) = try withoutTags(bytes, length: length)
        if sound.isEmpty { return .packedAudio(.unknown) }
        if try isTransportStream(sound) { return .transportStream }
        if let audio = audio(sound) { return .packedAudio(audio) }
        if hasTag { throw Refusal(description: "no sound that Haul knows follows its ID3 tag") }
        throw refusal(bytes)
    }
}

// MARK: - Formats

extension SegmentMedia {
    private static let packet = 188

    /// Whether each packet begins with the sync byte, as far as the bytes go.
    ///
    /// - Throws: ``Refusal`` if the first missing sync byte is that of the third packet or of a later one.
    private static func isTransportStream(_ bytes: some RandomAccessCollection<UInt8>) throws(Refusal) -> Bool {
        guard bytes.first == 0x47, bytes.count >= packet else { return false }
        var offset = 0
        while offset < bytes.count {
            guard byte(bytes, offset) == 0x47 else {
                // The sync byte is also the letter `G`, which may begin a text.
                if offset <= packet { return false }
                throw Refusal(description: "its transport stream breaks off at byte \(offset)")
            }
            offset += packet
        }
        return true
    }

    private static func isWebVTT(_ bytes: some RandomAccessCollection<UInt8>) -> Bool {
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes.dropFirst(0)
        let head = Array("WEBVTT".utf8)
        guard text.starts(with: head) else { return false }
        return text.dropFirst(head.count).first.map { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D } ?? true
    }

    /// Returns the bytes behind the ID3 tags (id3v2 §3.1). Packed audio begins with a tag that states the audio's time.
    private static func withoutTags<Bytes: RandomAccessCollection<UInt8>>(
        _ bytes: Bytes,
        length: Int64
    ) throws(Refusal) -> (rest: Bytes.SubSequence, hasTag: Bool) {
        var offset = 0
        // Each tag has at least 10 bytes, so the loop is linear.
        while bytes.dropFirst(offset).starts(with: Array("ID3".utf8)), bytes.count - offset >= 10 {
            var size = 0
            for index in 6..<10 {
                let digit = byte(bytes, offset + index)
                guard digit < 0x80 else { throw Refusal(description: "its ID3 tag has an impossible size") }
                size = size << 7 | Int(digit)
            }
            let hasFooter = byte(bytes, offset + 5) & 0x10 != 0
            offset += 10 + size + (hasFooter ? 10 : 0)
            guard Int64(offset) < length else { throw Refusal(description: "it has nothing but an ID3 tag") }
            if offset >= bytes.count { return (bytes.dropFirst(bytes.count), true) }
        }
        return (bytes.dropFirst(offset), offset > 0)
    }

    private static func audio(_ bytes: some RandomAccessCollection<UInt8>) -> Audio? {
        let (first, second) = (byte(bytes, 0), byte(bytes, 1))
        if first == 0x0B && second == 0x77 {
            guard bytes.count >= 6 else { return nil }
            // Versions up to 10 are AC-3, later ones E-AC-3 (ETSI TS 102 366, E.1.3.1.6).
            return byte(bytes, 5) >> 3 <= 10 ? .ac3 : .eac3
        }
        guard first == 0xFF, bytes.count >= 4 else { return nil }
        // ADTS has layer 0. MPEG audio has another layer, and neither the reserved version nor a reserved rate.
        if second & 0xF6 == 0xF0 { return .aac }
        let third = byte(bytes, 2)
        let isMPEG = second & 0xE0 == 0xE0 && second & 0x18 != 0x08 && second & 0x06 != 0
        return isMPEG && third & 0xF0 != 0xF0 && third & 0x0C != 0x0C ? .mp3 : nil
    }

    private static func refusal(_ bytes: some RandomAccessCollection<UInt8>) -> Refusal {
        let front = bytes.prefix(1024).drop { $0 <= 0x20 || $0 == 0xEF || $0 == 0xBB || $0 == 0xBF }
        if front.first == UInt8(ascii: "<") { return Refusal(description: "it is a page of text, not media") }
        if front.starts(with: Array("#EXTM3U".utf8)) { return Refusal(description: "it is a playlist, not media") }
        return Refusal(description: "it is no media that Haul knows")
    }

    /// Returns the byte at an offset; 0 beyond the end.
    static func byte(_ bytes: some RandomAccessCollection<UInt8>, _ offset: Int) -> UInt8 {
        offset < bytes.count ? bytes[bytes.index(bytes.startIndex, offsetBy: offset)] : 0
    }
}
