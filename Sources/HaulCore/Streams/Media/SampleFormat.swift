/// The parameters of pictures or sound that a file states once for all samples.
///
/// Parameters that stand in the samples themselves, such as those of H.264 and AC-3, may differ from part to part of a
/// film. They are not included.
package struct SampleFormat: Sendable, Hashable {
    package let isPicture: Bool
    /// `stream_type` in a transport stream, or the type of a sample entry.
    private let codec: UInt32
    /// Empty if the parameters are unknown, or stand in the samples.
    private let parameters: [UInt8]

    /// Whether samples of this format can follow those of another one in one track.
    ///
    /// - Parameter isSelfContained: whether each sample of sound has its parameters with it, as in transport streams.
    package func fits(_ other: SampleFormat, isSelfContained: Bool) -> Bool {
        isPicture == other.isPicture && codec == other.codec
            && (isSelfContained || parameters.isEmpty || other.parameters.isEmpty || parameters == other.parameters)
    }

    /// - Returns: `nil` for other streams than pictures and sound.
    init?(_ stream: TransportStream.Stream) {
        guard stream.kind != .other else { return nil }
        isPicture = stream.kind == .picture
        codec = UInt32(stream.type)
        parameters = stream.type == 0x0f ? Self.parameters(ofADTS: stream.front[...]) : []
    }

    /// - Returns: `nil` for other tracks than pictures and sound.
    init?(_ track: FragmentedMovie.Track) {
        guard track.handler == "vide" || track.handler == "soun" else { return nil }
        isPicture = track.handler == "vide"
        let entry = track.sampleEntry
        codec = entry?.type.rawValue ?? 0
        parameters = entry.map(Self.parameters) ?? []
    }

    /// - Parameter sound: packed sound, behind its tag.
    init(packed sound: ArraySlice<UInt8>) {
        (isPicture, codec) = (false, 0x0f)
        parameters = Self.parameters(ofADTS: sound)
    }

    /// Profile, rate and channels of AAC with ADTS headers (ISO/IEC 13818-7 §6.2); empty for anything else.
    private static func parameters(ofADTS bytes: ArraySlice<UInt8>) -> [UInt8] {
        let head = Array(bytes.prefix(4))
        guard head.count == 4, head[0] == 0xff, head[1] & 0xf6 == 0xf0 else { return [] }
        return [head[2] & 0xfd, head[3] & 0xc0]
    }

    private static func parameters(of entry: Box) -> [UInt8] {
        switch entry.type {
        // Fields of 28 bytes come before the boxes of sound (ISO/IEC 14496-12 §12.2.3), 78 before those of pictures.
        case "mp4a": box("esds", in: entry, after: 28).map(decoderInfo) ?? []
        case "hvc1": box("hvcC", in: entry, after: 78) ?? []
        case "vp09": box("vpcC", in: entry, after: 78) ?? []
        default: []
        }
    }

    private static func box(_ type: BoxType, in entry: Box, after fields: Int) -> [UInt8]? {
        // An entry that cannot be read has no parameters to compare.
        guard let boxes = try? Box.all(in: entry.content.dropFirst(fields), limit: 64) else { return nil }
        return boxes.first { $0.type == type }.map { Array($0.content) }
    }

    /// Returns the decoder's parameters within `esds` (ISO/IEC 14496-1 §7.2.6.7), without the rates beside them, which
    /// differ from film to film.
    private static func decoderInfo(_ content: [UInt8]) -> [UInt8] {
        var rest = content.dropFirst(4)
        while let tag = rest.popFirst() {
            var length = 0
            for _ in 0..<4 {
                guard let byte = rest.popFirst() else { return content }
                length = length << 7 | Int(byte & 0x7f)
                if byte & 0x80 == 0 { break }
            }
            switch tag {
            // Skips the number and the flags of the stream. In MP4, the flags announce no further fields (ISO/IEC
            // 14496-14 §3.1.2).
            case 3: rest = rest.dropFirst(3)
            case 4: rest = rest.dropFirst(13)
            case 5: return Array(rest.prefix(length))
            default: rest = rest.dropFirst(length)
            }
        }
        return []
    }
}
