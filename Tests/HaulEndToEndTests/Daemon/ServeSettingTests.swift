import ArgumentParser
import Foundation
import HaulKit
import HaulTesting
import Testing

@testable import HaulServer
@testable import haul

/// Tests that the table of settings, the options of `haul serve`, the manual page and the messages name the same
/// settings.
@Suite(.timeLimit(.minutes(60)))
struct ServeSettingTests {
    /// Options that set nothing of the daemon.
    private static let others: Set<String> = ["config", "print-config"]
    private let haul: HaulCommand

    init() throws { haul = try HaulCommand() }

    private func page() throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../..")
        return try String(contentsOf: root.appendingPathComponent("docs/haul.1"), encoding: .utf8)
    }

    @Test func theCommandHasAnOptionForEachSetting() async throws {
        let help = try await haul.run("help", "serve")
        let options = help.output.split(separator: "\n").compactMap { line in
            line.prefixMatch(of: #/  (?:-\w, )?--([a-z0-9-]+)/#).map { String($0.1) }
        }
        let settings = Set(ServeSetting.all.map(\.option))
        #expect(Set(options).subtracting(["version", "help"]) == settings.union(Self.others))
    }

    @Test func eachSettingReadsItsOption() throws {
        for setting in ServeSetting.all {
            let isFlag = ["aria2-notify-all", "allow-link-local"].contains(setting.name)
            let options = try ServeOptions.parse(["--" + setting.option] + (isFlag ? [] : ["7"]))
            let expected: ServeSetting.Value =
                switch setting.kind {
                case .text, .json: .text(isFlag ? "true" : "7")
                case .list: .list(["7"])
                }
            #expect(setting.given(options) == expected, "\(setting.name)")
            for other in ServeSetting.all where other.name != setting.name {
                #expect(other.given(options) == nil, "\(other.name)")
            }
        }
    }

    @Test func theManualHasEachSetting() throws {
        let manual = try page()
        let daemon = manual.split(separator: ".SH DAEMON\n").last?.split(separator: ".SH COMMANDS").first ?? ""
        let heads = daemon.split(separator: ".TP\n").dropFirst().map { $0.prefix { $0 != "\n" } }
        let options = heads.flatMap { $0.matches(of: /\\-\\-([a-z0-9\\-]+)/) }.map {
            String($0.1).replacing("\\", with: "")
        }
        // The folder of the state is an option of every command.
        let settings = Set(ServeSetting.all.map(\.option)).subtracting(["state-dir"])
        #expect(Set(options) == settings.union(Self.others))
        let environment = manual.split(separator: ".SH ENVIRONMENT\n").last?.split(separator: ".SH SIGNALS").first ?? ""
        let known = Set(ServeSetting.all.map { $0.name.uppercased().replacing("-", with: "_") })
        for variable in environment.matches(of: /HAUL_([A-Z0-9_]+)/) {
            #expect(known.contains(String(variable.1)), "\(variable.0)")
        }
    }

    @Test func everySettingIsPrintedWithItsSource() async throws {
        var haul = haul
        haul.environment["HAUL_ARIA2_SECRET"] = "secret"
        haul.environment["HAUL_PROXY"] = "http://name:secret@127.0.0.1:9"
        haul.environment["HAUL_WEBHOOK"] = "https://hooks.example/?token=secret"
        let file = haul.folder("settings.json")
        try #"{"allow-host": ["A.example", "b.example"], "max-streams": 5, "groups": {"Films": "films"}}"#.write(
            toFile: file,
            atomically: true,
            encoding: .utf8
        )
        let result = try await haul.run("serve", "--print-config", "--config", file, "--jobs", "4")
        #expect(result.status == 0, "\(result.errors)")
        let lines = result.output.split(separator: "\n").map(String.init)
        #expect(
            lines.map { String($0.prefix { $0 != " " }) } == [
                "state-dir", "directory", "listen", "socket", "root", "allow-host", "trust-proxy", "deny-address",
                "allow-link-local",
                "jobs",
                "max-streams", "playing", "log-level", "log-format", "umask", "user-agent", "proxy", "rules", "groups",
                "on-start",
                "on-complete", "on-error", "on-all-complete",
                "hook-timeout", "webhook", "webhook-secret-file", "aria2-rpc", "aria2-secret", "aria2-secret-file",
                "aria2-allow-origin",
                "aria2-notify-all",
            ]
        )
        for line in [
            "state-dir = \(haul.state.path)  (environment)", "listen = 127.0.0.1:4285  (default)",
            "root =  (default)", "allow-host = A.example, b.example  (\(file))", "jobs = 4  (option)",
            "max-streams = 5  (\(file))", #"groups = {"Films":"films"}  (\#(file))"#,
            "aria2-secret = ***  (environment)",
            "proxy = ***  (environment)", "rules =   (default)", "webhook = ***  (environment)",
            "on-complete =  (default)", "aria2-secret-file =   (default)",
            "aria2-notify-all = false  (default)",
        ] { #expect(lines.contains(line), "\(line)") }
    }

    @Test(arguments: [
        (
            #"{"jbos": 6}"#,
            """
            there is no setting named jbos. Settings: listen, socket, directory, root, allow-host, trust-proxy, deny-address, \
            allow-link-local, jobs, max-streams, playing, log-level, log-format, umask, user-agent, proxy, rules, groups, on-start, \
            on-complete, on-error, on-all-complete, hook-timeout, webhook, webhook-secret-file, state-dir, aria2-rpc, aria2-secret, \
            aria2-secret-file, aria2-allow-origin, aria2-notify-all.
            """
        ), (#"{"root": "/"}"#, "root must be a list of texts."), (#"{"root": [1]}"#, "root must be a list of texts."),
        (#"{"jobs": [1]}"#, "jobs must be a text or a number."), (#"{"jobs": true}"#, "jobs has a wrong type."),
        (#"{"jobs": 0}"#, "--jobs must be a number from 1 to 1000."),
        (#"{"max-streams": "many"}"#, "--max-streams must be a number from 1 to 10000."),
        (#"{"playing": "maybe"}"#, "--playing must be on or off, not maybe."),
        (#"{"umask": "22 "}"#, "--umask must be an octal number from 000 to 077, such as 002, not 22 ."),
        (#"{"umask": "702"}"#, "--umask must be an octal number from 000 to 077, such as 002, not 702."),
        (#"{"rules": {}}"#, "rules is a list of objects."), (#"{"rules": true}"#, "rules has a wrong type."),
        (#"{"rules": [{"extensions": ["pdf"]}]}"#, "rules[0].folder, group and connections are missing."),
        (#"{"rules": [{"extension": "pdf", "folder": "a"}]}"#, "There is no field named rules[0].extension."),
        (
            #"{"rules": [{"hosts": ["example.org"], "group": "A"}, {"name": "Out", "types": ["video"], "folder": "/etc"}]}"#,
            "The folder of rule 2 (Out) cannot be used. Files may not be saved in /etc."
        ), (#"{"groups": {"Films": "../films"}}"#, "The folder of the group Films cannot be used."),
        (#"{"groups": {"Films": 1}}"#, "groups.Films must be a folder"),
        (#"{"proxy": "ftp://name:secret@h"}"#, "--proxy: Haul speaks to http:// and socks5:// proxies, not to ftp://."),
        (#"{"user-agent": "a\nb"}"#, "--user-agent has characters that HTTP does not allow."),
    ])
    func aWrongFileIsRefused(_ json: String, _ message: String) async throws {
        let file = haul.folder("settings.json")
        try json.write(toFile: file, atomically: true, encoding: .utf8)
        let result = try await haul.run("serve", "--print-config", "--config", file)
        #expect(result.status == 64)
        #expect(result.errors.contains(message), "\(result.errors)")
    }

    @Test func theMessageAfterAHangupNamesTheSettingsThatNeedANewStart() {
        #expect(
            ServeSetting.appliedAfterRestart
                == """
                listen, socket, directory, deny-address, allow-link-local, log-level, log-format, umask, the settings of hooks and \
                aria2's settings
                """
        )
        #expect(Set(ServeSetting.inReadingOrder.map(\.name)) == Set(ServeSetting.all.map(\.name)))
    }

    @Test func linkLocalAddressesAreDeniedUnlessAllowed() async throws {
        let folder = ["--state-dir", haul.state.path]
        let denied = try await ServeSettings.read(try ServeOptions.parse(folder)).deniedAddresses
        #expect(denied.map(\.description) == ["169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128"])
        let both = try await ServeSettings.read(try ServeOptions.parse(folder + ["--deny-address", "private"]))
        #expect(Set(both.deniedAddresses).count == both.deniedAddresses.count)
        let allowed = try await ServeSettings.read(try ServeOptions.parse(folder + ["--allow-link-local"]))
        #expect(allowed.deniedAddresses == [])
    }

    /// The API says of a setting that it cannot change with which option it is set.
    @Test func theOptionsThatTheAPINamesExist() {
        let options = Set(ServeSetting.all.map(\.option))
        for setting in DaemonSetting.all where !setting.isLive {
            let named = setting.description.matches(of: /--([a-z-]+)/).map { String($0.1) }
            #expect(named.count == 1 && options.isSuperset(of: named), "\(setting.name)")
        }
    }
}
