internal import Foundation
internal import HTTPTypes
internal import HaulKit

/// Settings that were changed over the API. A setting that is `nil` has the value with which the daemon was started.
///
/// A file in the state folder keeps these settings. Its mode is 0600, because a proxy may have a password. The settings
/// of the downloader itself are in its store.
package struct ChangedSettings: Codable, Hashable, Sendable {
    /// Absolute path of the folder for downloads that name none.
    package var folder: String?
    package var userAgent: String?
    /// As ``ServerConfiguration/proxy``, but never empty.
    package var proxy: String?
    package var rules: [DownloadRule]?
    package var groups: [String: String]?

    package init() {}

    /// Reads the settings of a state folder.
    ///
    /// - Throws: ``ServerError`` if the file exists and cannot be used, because downloads without these settings could
    ///   bypass the proxy or go into other folders.
    package init(stateFolder: String) throws(ServerError) {
        let path = Self.path(stateFolder)
        do { self = try JSONDecoder().decode(Self.self, from: Data(try SecretFile.read(path).bytes)) } catch {
            if let failure = error as? SecretFile.Failure, failure.isMissing {
                self.init()
                return
            }
            let cause = (error as? Problem)?.detail ?? (error as? SecretFile.Failure)?.text ?? "it is damaged"
            throw ServerError(
                "The settings of the page, \(path), cannot be read: \(cause). Correct or delete the file."
            )
        }
    }

    /// Replaces the file of a state folder. After a crash the file has the old or the new settings.
    ///
    /// - Throws: ``Problem`` if the file cannot be written.
    func save(stateFolder: String) throws(Problem) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do { try SecretFile.replace(Self.path(stateFolder), Array(try encoder.encode(self))) } catch {
            throw Self.notSaved(error)
        }
    }

    static func notSaved(_ error: any Error) -> Problem {
        let isDiskFull = (error as? SecretFile.Failure)?.isDiskFull == true
        return Problem(
            isDiskFull ? .insufficientStorage : .internalServerError,
            "settingsNotSaved",
            "The settings cannot be saved, and stay as they were.",
            cause: "\(error)"
        )
    }

    private static func path(_ stateFolder: String) -> String { stateFolder + "/settings.json" }
}
