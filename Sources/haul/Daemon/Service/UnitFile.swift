import Foundation

/// The systemd user unit that runs the daemon. `Packaging/haul.service` is the text for `/usr/bin/haul`.
enum UnitFile {
    static let name = "haul.service"

    /// - Parameter program: absolute path of the command.
    static func text(program: String) -> String {
        """
        # haul service install writes this file, and replaces it. Your own settings belong beside it:
        #   systemctl --user edit haul.service
        # Settings of the daemon: haul/serve.json in the XDG configuration folder; then systemctl --user reload haul.service
        [Unit]
        Description=Haul download manager
        Documentation=man:haul(1)

        [Service]
        Type=notify
        ExecStart=\(quoted(program)) serve
        ExecReload=/bin/sh -c 'kill -HUP $MAINPID'
        Restart=on-failure
        RestartSec=2
        # Another daemon has the state folder, or a setting is wrong: neither ends by starting again.
        RestartPreventExitStatus=7 64
        WatchdogSec=30
        TimeoutStopSec=15
        Slice=background.slice
        NoNewPrivileges=yes

        [Install]
        WantedBy=default.target

        """
    }

    /// Quotes a path as a word of ExecStart (systemd.service(5), "Command lines").
    private static func quoted(_ path: String) -> String {
        let escaped = path.replacing("%", with: "%%").replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        let isPlain = escaped == path && !path.contains { $0.isWhitespace || $0 == "'" || $0 == ";" }
        return isPlain ? path : "\"\(escaped)\""
    }

    /// Whether this command wrote the file with this text.
    static func isOurs(_ text: String) -> Bool { text.hasPrefix("# haul service install writes this file") }
}
