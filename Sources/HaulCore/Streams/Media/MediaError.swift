/// Reason why the bytes of a stream make no film that Haul can write itself.
package enum MediaError: Error, Sendable, Hashable {
    /// A box is longer than the bytes that hold it, or shorter than its own fields.
    case truncated(BoxType)
    /// The bytes are no box where one has to begin.
    case notABox(position: Int64)
    /// A box is larger than Haul reads into memory.
    case tooLarge(BoxType, bytes: Int64)
    /// There are more boxes of this type, or more entries in one of them, than Haul reads.
    case tooMany(BoxType)
    /// A box that has to be there is missing.
    case missing(BoxType, in: String)
    /// A field has a value that the format does not allow.
    case invalid(BoxType, String)
    /// The samples are encrypted inside the file.
    case protected
    /// A later init section of the same rendition differs from the first one.
    case changedInitSection
    /// A fragment begins before the fragment that it follows, or before the film.
    case timeGoesBack(track: UInt32)
    /// A rendition has no fragment at all.
    case noFragments(rendition: Int)
    /// A transport stream has a byte other than 0x47 where a packet begins.
    case lostSync(packet: Int64)
    /// A transport stream ends inside a packet.
    case partialPacket
    /// A transport stream has no program table, so that nothing can play it.
    case noProgram

    /// One sentence for the user.
    package var sentence: String {
        switch self {
        case .truncated(let type): "The stream's \(type) box ends before its content does."
        case .notABox(let position): "The stream has no MP4 box at byte \(position), where one has to begin."
        case .tooLarge(let type, let bytes): "The stream's \(type) box has \(bytes) bytes, more than Haul reads."
        case .tooMany(let type): "The stream has more \(type) boxes than Haul reads."
        case .missing(let type, let parent): "The stream's \(parent) lacks its \(type) box."
        case .invalid(let type, let reason): "The stream's \(type) box cannot be used: \(reason)."
        case .protected: "The stream is protected: its samples are encrypted."
        case .changedInitSection: "The stream changes its format on the way, which takes ffmpeg to put together."
        case .timeGoesBack(let track): "The time of track \(track) goes back, which takes ffmpeg to put together."
        case .noFragments(let rendition): "Rendition \(rendition + 1) of the stream has no samples."
        case .lostSync(let packet): "The transport stream has no packet where packet \(packet) has to begin."
        case .partialPacket: "The transport stream ends inside a packet."
        case .noProgram: "The transport stream has no program table (PAT and PMT)."
        }
    }
}
