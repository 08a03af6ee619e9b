import ArgumentParser
import Foundation
import HaulKit

struct ServiceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "service",
        abstract: "Runs the daemon as a service of the user's systemd.",
        discussion: """
            The service starts when the user logs in. With loginctl enable-linger it starts with the machine. For a daemon of \
            the system, confined to its own folders, the Debian package has the unit haul@USER.service.
            """,
        subcommands: [Install.self, Uninstall.self, Status.self]
    )

    /// The folder for units of the user.
    fileprivate static var folder: String {
        let path = ProcessInfo.processInfo.environment["XDG_CONFIG_HOME"] ?? ""
        return (path.hasPrefix("/") ? path : HomeFolder.path(".config")) + "/systemd/user"
    }
    fileprivate static var path: String { folder + "/" + UnitFile.name }

    /// Runs `systemctl --user` if it is installed, and prints the outcome.
    ///
    /// - Returns: whether it succeeded.
    @discardableResult
    fileprivate static func systemctl(_ arguments: [String]) -> Bool {
        let line = (["systemctl", "--user"] + arguments).joined(separator: " ")
        guard let program = SystemPrograms.path(of: "systemctl") else {
            Output.result("systemctl was not found. Where it is: \(line)")
            return false
        }
        let status = SystemProgram.run(program, ["--user"] + arguments)
        Output.result(status == 0 ? "Ran: \(line)" : "This failed: \(line)")
        return status == 0
    }

    fileprivate static func complaints(_ body: () throws -> Void) throws {
        do { try body() } catch let complaint as Complaint {
            Output.error(complaint.sentence)
            throw complaint.status.code
        }
    }

    struct Install: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Writes the unit of the service, and says what to run next.",
            discussion: "Exit status: 0 systemd knows the unit, 1 there is no systemd or it did not read the unit."
        )

        @Flag(help: "Start the service too, now and at every login.")
        var now = false

        func run() throws {
            try ServiceCommand.complaints {
                guard SystemPrograms.path(of: "systemctl") != nil else {
                    throw Complaint(
                        """
                        systemctl was not found, so this machine runs no services of systemd, and no unit was written. Let the \
                        service manager of this machine run haul serve in the foreground.
                        """,
                        .otherFailure
                    )
                }
                try write()
                Output.result("Wrote \(ServiceCommand.path)")
                guard ServiceCommand.systemctl(["daemon-reload"]) else {
                    throw Complaint(
                        """
                        The unit is written, and systemd did not read it. Is systemd running, and is this a session of the user? \
                        Then: systemctl --user daemon-reload
                        """,
                        .otherFailure
                    )
                }
                let start = ["enable", "--now", UnitFile.name]
                if now {
                    guard ServiceCommand.systemctl(start) else {
                        throw Complaint("The unit is written, and the service was not started.", .otherFailure)
                    }
                } else {
                    Output.result("Next: systemctl --user \(start.joined(separator: " "))")
                }
                Output.result("To start it with the machine, before anybody logs in: loginctl enable-linger")
                Output.result("Then haul open prints a link to the page.")
            }
        }

        private func write() throws {
            let (manager, path) = (FileManager.default, ServiceCommand.path)
            if let present = manager.contents(atPath: path), !UnitFile.isOurs(String(decoding: present, as: UTF8.self))
            {
                throw Complaint("\(path) exists and was not written by this command. Move it away first.", .fileExists)
            }
            do {
                try manager.createDirectory(atPath: ServiceCommand.folder, withIntermediateDirectories: true)
                try UnitFile.text(program: try program()).write(toFile: path, atomically: true, encoding: .utf8)
            } catch let complaint as Complaint { throw complaint } catch {
                throw Complaint("\(path) cannot be written: \(error.localizedDescription)", .disk)
            }
        }

        /// Returns the absolute path of this program.
        private func program() throws -> String {
            guard let path = Bundle.main.executablePath, path.hasPrefix("/") else {
                throw Complaint("The path of this program is not known.", .otherFailure)
            }
            return path
        }
    }

    struct Uninstall: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Stops the service and deletes its unit. Downloads and settings stay."
        )

        func run() throws {
            try ServiceCommand.complaints {
                let (manager, path) = (FileManager.default, ServiceCommand.path)
                guard let present = manager.contents(atPath: path) else {
                    Output.result("There is no \(path).")
                    return
                }
                guard UnitFile.isOurs(String(decoding: present, as: UTF8.self)) else {
                    throw Complaint("\(path) was not written by this command, and stays.", .fileExists)
                }
                ServiceCommand.systemctl(["disable", "--now", UnitFile.name])
                do { try manager.removeItem(atPath: path) } catch {
                    throw Complaint("\(path) cannot be deleted: \(error.localizedDescription)", .disk)
                }
                Output.result("Deleted \(path)")
                ServiceCommand.systemctl(["daemon-reload"])
            }
        }
    }

    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Says whether the service is installed and the daemon answers.",
            discussion: "Exit status: 0 the daemon answers, 1 it does not."
        )

        @OptionGroup var daemon: DaemonOptions

        func run() async throws {
            let isInstalled = FileManager.default.fileExists(atPath: ServiceCommand.path)
            Output.result(isInstalled ? "Unit: \(ServiceCommand.path)" : "Unit: none at \(ServiceCommand.path)")
            if let program = SystemPrograms.path(of: "systemctl") {
                for (question, name) in [("is-enabled", "Starts at login"), ("is-active", "Run by systemd")] {
                    let status = SystemProgram.run(
                        program,
                        ["--user", "--quiet", question, UnitFile.name],
                        isQuiet: true
                    )
                    Output.result("\(name): \(status == 0 ? "yes" : "no")")
                }
            }
            try await daemon.run { client in Output.result("Daemon: answers at \(client.socket)") }
        }
    }
}
