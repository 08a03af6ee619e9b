internal import Foundation
internal import HaulKit

/// Where a bus listens: a socket of this machine.
enum DBusAddress: Sendable, Hashable {
    case path(String)
    /// A name in the abstract namespace, not a file, on Linux.
    case abstract(String)

    /// Reads a list of addresses, `unix:path=/run/bus;unix:abstract=name,guid=…`. Other transports are left out.
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

    /// The bus of the machine's services.
    static func systemBus(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> [DBusAddress] {
        environment["DBUS_SYSTEM_BUS_ADDRESS"].map(read) ?? [.path("/var/run/dbus/system_bus_socket")]
    }

    /// The bus of the user's session; empty where there is none.
    static func sessionBus(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> [DBusAddress] {
        if let text = environment["DBUS_SESSION_BUS_ADDRESS"] { return read(text) }
        // The XDG rules say that a relative path is to be ignored.
        if let folder = environment["XDG_RUNTIME_DIR"], folder.hasPrefix("/") {
            return [.path(FilePaths.join(folder, "bus"))]
        }
        return []
    }
}
