import Foundation

@testable import HaulCore
@testable import HaulDesktop
@testable import HaulKit

/// Parsers of settings by users and in their files.
extension FuzzTarget {
    static let settings: [FuzzTarget] = [
        FuzzTarget(
            text: ".netrc",
            [
                "machine a.example login b password c\ndefault login x password y",
                "macdef init\ncd /\n\nmachine \"q\" login",
            ]
        ) {
            text in
            let netrc = Netrc(text)
            _ = netrc.credentials(host: "a.example")
            return netrc.credentials(host: "", isNamed: true) == nil || text.contains("machine")
                ? nil : "a default for a named host"
        },
        FuzzTarget(
            text: "proxies",
            ["http://user:pass@proxy.example:3128", "socks5h://[::1]:1080", "proxy:80", "http://proxy"]
        ) { text in
            guard let proxy = try? ProxySettings.Proxy(text) else { return nil }
            if !(1...65535).contains(proxy.port) { return "port \(proxy.port)" }
            if proxy.host.isEmpty { return "no host" }
            _ = proxy.description
            return nil
        },
        FuzzTarget(text: "exceptions of proxies", ["a.example,.b.example,*", "10.0.0.0/8", "[::1]:80, localhost:8080"])
        { text in
            let variables = ["http_proxy": "http://p.example:1", "no_proxy": text]
            guard let settings = try? ProxySettings.environment(variables), let url = URL(string: "http://a.example/")
            else { return nil }
            _ = settings.proxy(for: url)
            return nil
        },
        FuzzTarget(
            text: "timetables",
            ["08:00,512k 18:00,unlimited Mon-09:00,off", "off", "Sat-00:00,2MiB", "24:00,1"]
        ) { text in
            guard let timetable = try? Timetable(text) else { return nil }
            guard let again = try? Timetable(timetable.description) else { return "\(timetable) cannot be read again" }
            if again != timetable { return "\(timetable) and \(again)" }
            _ = timetable.nextChange(after: now)
            return nil
        },
        FuzzTarget(text: "amounts", ["512k", "1.5MiB", "800000", "0.000000000000000001E", "9223372036854775807"]) {
            text in
            guard let count = ByteCount(text) else { return nil }
            return count.bytes >= 0 ? nil : "\(count.bytes)"
        },
        FuzzTarget(text: "fields of requests", ["Referer: http://a.example", "X:", "A: b\r\nC: d", " : "]) { text in
            guard let field = HeaderField(text) else { return nil }
            if field.name.isEmpty { return "no name" }
            if (field.name + field.value).utf8.contains(where: { $0 == 13 || $0 == 10 || $0 == 0 }) {
                return "a line's end in it"
            }
            return nil
        },
        FuzzTarget(text: "addresses", ["127.0.0.1", "::1", "fe80::1%eth0", "1.2.3.4.5"]) { text in
            guard let address = IPAddress(text) else { return nil }
            return IPAddress(address.description) == address ? nil : "\(address)"
        },
        FuzzTarget(
            text: "addresses of buses",
            ["unix:path=/run/dbus/system_bus_socket", "unix:abstract=/tmp/x,guid=1;tcp:host=a", "unix:path=%2f"]
        ) {
            text in
            _ = DBusAddress.read(text)
            return nil
        },
    ]
}
