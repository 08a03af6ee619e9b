import Foundation
import HaulTesting
import Testing

@testable import haul

/// Tests `haul service` and the systemd units of the package.
@Suite(.timeLimit(.minutes(60)))
struct ServiceCommandTests {
    let haul: HaulCommand

    init() throws {
        var haul = try HaulCommand()
        // With no other `systemctl` in the path, the tests change nothing on the machine.
        haul.environment["PATH"] = haul.folder("bin")
        self.haul = haul
    }

    /// Installs a `systemctl` that ends with a status and does nothing else.
    private func makeSystemctl(endingWith status: Int) throws {
        try FileManager.default.createDirectory(atPath: haul.folder("bin"), withIntermediateDirectories: true)
        try haul.folder.makeProgram("bin/systemctl", "#!/bin/sh\nexit \(status)\n")
    }

    @Test func withoutSystemdNothingIsWritten() async throws {
        let result = try await haul.run("service", "install")
        #expect(result.status == 1 && result.errors.contains("systemctl was not found"), "\(result.errors)")
        #expect(!FileManager.default.fileExists(atPath: unit))
        let status = try await haul.run("service", "uninstall")
        #expect(status.status == 0)
    }

    @Test func aUnitThatSystemdDidNotReadIsAFailure() async throws {
        try makeSystemctl(endingWith: 1)
        let result = try await haul.run("service", "install")
        #expect(result.status == 1 && result.errors.contains("systemd did not read it"), "\(result.errors)")
        #expect(FileManager.default.fileExists(atPath: unit))
    }

    private var unit: String { haul.folder(".config/systemd/user/haul.service") }
    private static let packaging = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../Packaging")

    @Test func installsAndUninstallsTheUnit() async throws {
        try makeSystemctl(endingWith: 0)
        let result = try await haul.run("service", "install")
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output.contains("Wrote \(unit)") && result.output.contains("enable --now haul.service"))
        let text = try String(contentsOfFile: unit, encoding: .utf8)
        #expect(
            text.contains("ExecStart=\(URL(fileURLWithPath: HaulCommand.path).resolvingSymlinksInPath().path) serve\n")
        )
        #expect(try await haul.run("service", "install").status == 0)
        let status = try await haul.run("service", "status")
        #expect(status.status == 1 && status.output.contains(unit) && status.errors.contains("No daemon is running"))
        #expect(try await haul.run("service", "uninstall").output.contains("Deleted \(unit)"))
        #expect(!FileManager.default.fileExists(atPath: unit))
        #expect(try await haul.run("service", "uninstall").status == 0)
    }

    @Test func aUnitOfSomebodyElseStays() async throws {
        try makeSystemctl(endingWith: 0)
        try FileManager.default.createDirectory(
            atPath: haul.folder(".config/systemd/user"),
            withIntermediateDirectories: true
        )
        try "[Service]\n".write(toFile: unit, atomically: true, encoding: .utf8)
        #expect(try await haul.run("service", "install").status == 6)
        #expect(try await haul.run("service", "uninstall").status == 6)
        #expect(try String(contentsOfFile: unit, encoding: .utf8) == "[Service]\n")
    }

    @Test func theUnitOfThePackageIsTheSame() throws {
        let text = try String(contentsOf: Self.packaging.appendingPathComponent("haul.service"), encoding: .utf8)
        #expect(text == UnitFile.text(program: "/usr/bin/haul"))
    }

    @Test func aPathWithBlanksAndPercentSignsIsQuoted() {
        #expect(UnitFile.text(program: "/opt/my 100%/haul").contains("ExecStart=\"/opt/my 100%%/haul\" serve\n"))
    }
}
