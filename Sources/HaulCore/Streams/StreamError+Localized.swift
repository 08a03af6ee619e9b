internal import Foundation

/// The texts of `localizedDescription` and of alerts, in English.
extension StreamError: LocalizedError {
    package var errorDescription: String? { message }

    /// Advice for the user; `nil` if no general advice fits.
    package var recoverySuggestion: String? {
        switch self {
        case .notAPlaylist(.webPage): "Sign in to the site, or get a new link."
        case .notAPlaylist: "Use the URL of an HLS playlist, or download the file without reading it as a stream."
        case .noSuchVariant: "List the variants, and choose one of them."
        case .noSuchTrack: "Choose a language or a name of the list."
        case .changed: "Remove the download and add it again to fetch the new version."
        case .reloadsFailed: "Check the network connection, or get a new link."
        case .tooLarge, .invalid, .unsupported, .protected, .missingSound, .contradiction, .wentBack: nil
        }
    }
}
