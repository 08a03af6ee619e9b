internal import Foundation

/// The reason why a stream cannot be fetched. Texts from playlists become one line of visible characters in
/// ``message``; URLs are never quoted with their queries.
package enum StreamError: Error, Sendable, Hashable {
    /// The bytes are no playlist of HLS.
    case notAPlaylist(Impostor)
    /// The playlist exceeds a bound of ``StreamLimits``. The text is a clause about the playlist.
    case tooLarge(String)
    /// A line cannot be read. The text is a clause about the line. Line 0 stands for the whole playlist.
    case invalid(String, line: Int)
    /// The playlist is valid, but Haul does not fetch its stream. The text is a clause about the stream.
    case unsupported(String)
    /// The stream has encryption that Haul does not remove.
    case protected(StreamProtection)
    /// No variant fits the choice.
    case noSuchVariant(asked: String, available: [String])
    /// No rendition fits the choice. `kind` is `sound` or `subtitles`.
    case noSuchTrack(kind: String, asked: String, available: [String])
    /// The variant names a group of sound that the playlist does not have.
    case missingSound(group: String)
    /// The playlist lists another film than at an earlier reading. The text is a clause about the difference.
    case changed(String)
    /// A live playlist gave one number to two segments.
    case contradiction(number: Int64)
    /// Too many consecutive reloads of a live playlist listed only segments before those that it had listed earlier.
    case wentBack(to: Int64)
    /// A live playlist could not be read for too long.
    case reloadsFailed(status: Int?, seconds: Int)

    /// Kind of content that came instead of a playlist.
    package enum Impostor: Sendable, Hashable {
        case webPage, byteOrderMark, notUTF8, noHeader, emptyList
    }
}

extension StreamError {
    /// Whether the live playlist belongs to another recording: its segments contradict or precede the recorded ones.
    package var isOfAnotherRecording: Bool {
        switch self {
        case .contradiction, .wentBack: true
        default: false
        }
    }

    /// One or two sentences for people.
    package var message: String { VisibleText.line(sentence) }

    private var sentence: String {
        switch self {
        case .notAPlaylist(let impostor): impostor.sentence
        case .tooLarge(let clause): "This playlist is too large: \(clause)."
        case .invalid(let clause, 0): "This playlist cannot be used: \(clause)."
        case .invalid(let clause, let line): "This playlist cannot be used: in line \(line) \(clause)."
        case .unsupported(let clause): "This stream cannot be fetched: \(clause)."
        case .protected(let protection):
            "This stream is protected (\(protection)), and Haul does not get round protection."
        case .noSuchVariant(let asked, let available):
            "This stream has no variant \(Self.quoted(asked)). " + Self.list(available, of: "variant")
        case .noSuchTrack(let kind, let asked, let available):
            "This stream has no \(kind) \(Self.quoted(asked)). " + Self.list(available, of: kind)
        case .missingSound(let group):
            "This playlist names a group of sound that it does not have: \(Self.quoted(group))."
        case .changed(let clause): "The playlist lists another film than before: \(clause)."
        case .contradiction(let number):
            "The live playlist lists another segment than before under the number \(number)."
        case .wentBack(let number):
            "The live playlist went back to the number \(number), behind the segments that it listed before."
        case .reloadsFailed(let status, let seconds):
            "The live playlist could not be read for \(seconds) seconds"
                + (status.map { "; the server answered \($0) last." } ?? ".")
        }
    }

    private static let mostListed = 20

    private static func quoted(_ text: String) -> String { "“\(text.prefix(80))”" }

    private static func list(_ available: [String], of kind: String) -> String {
        guard !available.isEmpty else { return "It has no \(kind) to choose." }
        let more = available.count - mostListed
        return "It has: " + available.prefix(mostListed).joined(separator: "; ")
            + (more > 0 ? "; and \(more) more." : ".")
    }
}

extension StreamError.Impostor {
    fileprivate var sentence: String {
        switch self {
        case .webPage: "This is a web page, not a playlist of HLS: its first line is not #EXTM3U."
        case .byteOrderMark: "This is not a playlist of HLS: it begins with a byte order mark."
        case .notUTF8: "This is not a playlist of HLS: it is not in UTF-8."
        case .noHeader: "This is not a playlist of HLS: its first line is not #EXTM3U."
        case .emptyList: "This playlist lists neither segments nor variants."
        }
    }
}

extension StreamError: CustomStringConvertible {
    package var description: String { message }
}

/// The texts of `localizedDescription` and of alerts, in English.
extension StreamError: LocalizedError {
    package var errorDescription: String? { message }

    /// Advice for the user; `nil` if no general advice fits.
    package var recoverySuggestion: String? {
        switch self {
        case .notAPlaylist(.webPage): "Sign in to the site, or get a new link."
        case .notAPlaylist: "Use the URL of an HLS playlist, or download the file without reading it as a stream."
        case .noSuchVariant(_, []): "Leave the choice of a variant out."
        case .noSuchTrack(_, _, []): "Leave the choice out."
        case .noSuchVariant: "List the variants, and choose one of them."
        case .noSuchTrack: "Choose a language or a name of the list."
        case .changed: "Remove the download and add it again to fetch the new version."
        case .reloadsFailed: "Check the network connection, or get a new link."
        case .tooLarge, .invalid, .unsupported, .protected, .missingSound, .contradiction, .wentBack: nil
        }
    }
}
