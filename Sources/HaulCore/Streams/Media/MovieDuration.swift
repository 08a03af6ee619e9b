/// Reads the duration that an MP4 file with one `moov` states.
package enum MovieDuration {
    /// - Parameters:
    ///   - length: length of the file in bytes.
    ///   - read: returns the bytes of a range of the file.
    /// - Returns: seconds; `nil` if the file is no MP4 or states no duration.
    package static func seconds<Failure: Error>(
        length: Int64,
        _ read: (Range<Int64>) throws(Failure) -> [UInt8]
    ) throws(Failure) -> Double? {
        var position: Int64 = 0
        for _ in 0..<mostBoxes where position < length {
            let front = try read(position..<min(length, position + mostBytes))
            // A file with bytes that are no box has no duration.
            guard
                let header = try? BoxHeader(front[...], available: length - position, position: position)
            else { return nil }
            switch header.type {
            case "moov": position += header.headerLength
            case "mvhd": return try? seconds(front.dropFirst(Int(header.headerLength)))
            default: position += header.length
            }
        }
        return nil
    }

    /// More boxes than stand before `mvhd` in any film.
    private static let mostBoxes = 1000
    /// Number of bytes that are read of each box, enough for an `mvhd` with its header.
    private static let mostBytes: Int64 = 128

    /// Reads the content of `mvhd` (ISO/IEC 14496-12 §8.2.2).
    private static func seconds(_ content: ArraySlice<UInt8>) throws(MediaError) -> Double? {
        var reader = BoxReader(content, of: "mvhd")
        let (version, _) = try reader.versionAndFlags()
        try reader.skip(version == 1 ? 16 : 8)
        let timescale = try reader.uint32()
        let duration = version == 1 ? try reader.uint64() : UInt64(try reader.uint32())
        return timescale > 0 ? Double(duration) / Double(timescale) : nil
    }
}
