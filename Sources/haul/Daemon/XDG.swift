import Foundation
import HaulKit

/// Folders of the XDG Base Directory Specification. Folders that systemd names for a unit take precedence.
enum XDG {
    private static let environment = ProcessInfo.processInfo.environment

    /// Returns the path that a variable of the specification holds. A relative path counts as unset, as the
    /// specification requires.
    private static func folder(_ name: String) -> String? {
        environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    /// Returns the first of the folders that systemd names in a variable of a unit.
    private static func folderOfUnit(_ name: String) -> String? {
        guard let path = environment[name]?.split(separator: ":").first, path.hasPrefix("/") else { return nil }
        return String(path)
    }

    /// The configuration folder of all programs of this user.
    private static var userConfiguration: String { folder("XDG_CONFIG_HOME") ?? HomeFolder.path(".config") }

    /// The configuration folder of Haul itself.
    static var configuration: String { folderOfUnit("CONFIGURATION_DIRECTORY") ?? userConfiguration + "/haul" }

    /// The state folder of Haul itself.
    static var state: String { folderOfUnit("STATE_DIRECTORY") ?? Downloader.Configuration.Storage().stateFolder }

    /// A folder for the socket. Only this user can open the folder.
    static func runtime(_ state: String) -> String {
        folderOfUnit("RUNTIME_DIRECTORY") ?? folder("XDG_RUNTIME_DIR").map { $0 + "/haul" } ?? state + "/daemon"
    }

    /// The folder of `XDG_DOWNLOAD_DIR`, else the download folder of `user-dirs.dirs`, else `~/Downloads`.
    static var downloads: String {
        if let path = environment["XDG_DOWNLOAD_DIR"], path.hasPrefix("/") { return path }
        let fallback = HomeFolder.path("Downloads")
        let file = userConfiguration + "/user-dirs.dirs"
        // Most machines without a desktop have no such file.
        guard let data = FileManager.default.contents(atPath: file) else { return fallback }
        for line in String(decoding: data, as: UTF8.self).split(separator: "\n")
        where line.hasPrefix("XDG_DOWNLOAD_DIR=") {
            let value = line.dropFirst("XDG_DOWNLOAD_DIR=".count).trimmingCharacters(
                in: CharacterSet(charactersIn: "\" ")
            )
            let path = value.hasPrefix("$HOME/") ? HomeFolder.path(String(value.dropFirst(6))) : value
            if path.hasPrefix("/") { return path }
        }
        return fallback
    }
}
