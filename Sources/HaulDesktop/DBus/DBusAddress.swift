internal import Foundation
internal import HaulKit

/// Address of a bus: a Unix domain socket.
enum DBusAddress: Sendable, Hashable {
    case path(String)
    /// A name in Linux's abstract namespace, not a file.
    case abstract(String)

    /// Reads a list of addresses, such as `unix:path=/run/bus;unix:abstract=name,guid=…`. Ignores other transports.
    static func read(_ text: String) -> [DBusAddress] {
        text.split(separator: ";").compactMap { one in
            guard one.hasPrefix("unix:") else { return nil }
            for pair in one.dropFirst(5).split(separator: ",") {
                let parts = pair.split(separator: "=", maxSplits: 1)
                guard parts.count == 2, let value = String(parts[1]).removingPercentEncoding,
                    !value.utf8.contains(0)
                else { continue }
                if parts[0] == "path" { return .path(value) }
                if parts[0] == "abstract" { return .abstract(value) }
            }
            return nil
        }
    }

    /// Returns the addresses of the system bus.
    static func systemBus(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> [DBusAddress] {
        environment["DBUS_SYSTEM_BUS_ADDRESS"].map(read) ?? [.path("/var/run/dbus/system_bus_socket")]
    }

    /// Returns the addresses of the session bus of the user; empty if there is none.
    static func sessionBus(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> [DBusAddress] {
        if let text = environment["DBUS_SESSION_BUS_ADDRESS"] { return read(text) }
        // The XDG Base Directory Specification requires a relative path to be ignored.
        if let folder = environment["XDG_RUNTIME_DIR"], folder.hasPrefix("/") {
            return [.path(FilePaths.join(folder, "bus"))]
        }
        return []
    }
}
