import Foundation
import HaulKit

/// Folders of the XDG Base Directory Specification. Folders that systemd names for a unit take precedence.
enum XDG {
    private static let environment = ProcessInfo.processInfo.environment

    private static func folder(_ names: [String], _ fallback: String) -> String {
        // Relative paths count as unset, as the specification requires. Takes the first folder, because systemd may
        // name several.
        for name in names {
            if let path = environment[name]?.split(separator: ":").first, path.hasPrefix("/") { return String(path) }
        }
        return fallback
    }

    /// The configuration folder of Haul itself.
    static var configuration: String {
        if let path = environment["CONFIGURATION_DIRECTORY"]?.split(separator: ":").first, path.hasPrefix("/") {
            return String(path)
        }
        return folder(["XDG_CONFIG_HOME"], HomeFolder.path(".config")) + "/haul"
    }

    /// The state folder of Haul itself.
    static var state: String {
        if let path = environment["STATE_DIRECTORY"]?.split(separator: ":").first, path.hasPrefix("/") {
            return String(path)
        }
        return Downloader.Configuration.Storage().stateFolder
    }

    /// A folder for the socket. Only this user can open the folder.
    static func runtime(_ state: String) -> String {
        if let path = environment["RUNTIME_DIRECTORY"]?.split(separator: ":").first, path.hasPrefix("/") {
            return String(path)
        }
        if let path = environment["XDG_RUNTIME_DIR"], path.hasPrefix("/") { return path + "/haul" }
        return state + "/daemon"
    }

    /// The download folder of `user-dirs.dirs`, else `~/Downloads`.
    static var downloads: String {
        if let path = environment["XDG_DOWNLOAD_DIR"], path.hasPrefix("/") { return path }
        let fallback = HomeFolder.path("Downloads")
        let file = folder(["XDG_CONFIG_HOME"], HomeFolder.path(".config")) + "/user-dirs.dirs"
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
