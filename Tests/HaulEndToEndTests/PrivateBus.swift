import Foundation
import HaulTesting
import NIOCore

@testable import HaulDesktop

/// Runs a private message bus with a fake desktop and a fake NetworkManager.
///
/// The fakes are one script on libdbus, an implementation that shares no code with HaulDesktop. Calls of
/// `org.haul.Fake` control the script.
final class PrivateBus: Sendable {
    struct Failure: Error { let text: String }

    let addresses: [DBusAddress]
    private let folder: TemporaryFolder
    private let bus: ChildProcess
    private let fake: ChildProcess

    static let daemon = "/usr/bin/dbus-daemon"
    static let python = "/usr/bin/python3"

    /// Whether the required programs are installed.
    static let isPossible: Bool = {
        guard FileManager.default.isExecutableFile(atPath: daemon) else { return false }
        return (try? SystemCommand.run(python, "-c", "import dbus, gi")) != nil
    }()

    /// - Parameter isAbstract: whether the bus listens on an abstract socket instead of a path.
    static func start(isAbstract: Bool = false) async throws -> PrivateBus {
        let folder = try TemporaryFolder()
        let name = isAbstract ? "haul-\(UUID().uuidString)" : folder("bus")
        let address = "unix:\(isAbstract ? "abstract" : "path")=\(name)"
        let rules = """
            <busconfig><type>session</type><listen>\(address)</listen><auth>EXTERNAL</auth>
            <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
            <allow own="*"/></policy></busconfig>
            """
        try rules.write(toFile: folder("bus.conf"), atomically: true, encoding: .utf8)
        try script.write(toFile: folder("fake.py"), atomically: true, encoding: .utf8)
        let bus = try ChildProcess(daemon, ["--config-file=\(folder("bus.conf"))", "--nofork", "--nopidfile"])
        let fake = try ChildProcess(python, [folder("fake.py"), address])
        let started = PrivateBus(DBusAddress.read(address), folder, bus, fake)
        while true {
            if (try? await started.tell("Ping")) != nil { return started }
            for process in [bus, fake] where !process.isRunning {
                throw Failure(text: await process.result().errors)
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private init(_ addresses: [DBusAddress], _ folder: TemporaryFolder, _ bus: ChildProcess, _ fake: ChildProcess) {
        self.addresses = addresses
        self.folder = folder
        self.bus = bus
        self.fake = fake
    }

    deinit {
        for process in [fake, bus] { process.send(SIGKILL) }
    }

    func stop() async {
        bus.send(SIGKILL)
        _ = await bus.result()
    }

    /// Calls the fake and returns its answer. The call is repeated if the bus closes the connection, as a bus does when
    /// a login takes long on a busy machine.
    @discardableResult
    func tell(_ member: String, _ body: DBusValue...) async throws -> [DBusValue] {
        let call = DBusMessage.call(
            to: "org.haul.Fake",
            path: "/org/haul/Fake",
            interface: "org.haul.Fake",
            member: member,
            body
        )
        while true {
            do throws(DBusError) {
                let connection = try await DBusConnection.open(addresses, until: .now() + .minutes(5))
                return try await connection.call(call, until: .now() + .minutes(5)).body
            } catch {
                guard case .notConnected = error, bus.isRunning else { throw error }
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    private static let script = #"""
        import sys, dbus, dbus.service, dbus.mainloop.glib
        from gi.repository import GLib

        dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
        MANAGER = "org.freedesktop.NetworkManager"
        DESKTOP = "org.freedesktop.Notifications"
        PROPERTIES = "org.freedesktop.DBus.Properties"
        attempts = 0

        def connect():
            global attempts
            attempts += 1
            try:
                return dbus.bus.BusConnection(sys.argv[1])
            except dbus.DBusException:
                if attempts > 500:
                    raise
                GLib.usleep(10000)
                return connect()

        bus = connect()
        names = {}

        class Manager(dbus.service.Object):
            metered = 0

            @dbus.service.method(PROPERTIES, in_signature="ss", out_signature="v")
            def Get(self, interface, name):
                assert (interface, name) == (MANAGER, "Metered")
                return dbus.UInt32(self.metered)

            @dbus.service.signal(PROPERTIES, signature="sa{sv}as")
            def PropertiesChanged(self, interface, changed, invalidated):
                pass

        class Desktop(dbus.service.Object):
            shown = []
            markup = False

            @dbus.service.method(DESKTOP, in_signature="", out_signature="as")
            def GetCapabilities(self):
                return ["body", "body-markup"] if self.markup else ["body"]

            @dbus.service.method(DESKTOP, in_signature="susssasa{sv}i", out_signature="u")
            def Notify(self, name, replaced, icon, title, body, actions, hints, expires):
                assert type(hints["urgency"]) is dbus.Byte
                self.shown.append("%s|%s|%s|%d" % (name, title, body, hints["urgency"]))
                return 1

            @dbus.service.method(DESKTOP + ".Silent", async_callbacks=("answer", "fail"))
            def Silent(self, answer, fail):
                pass

        class Fake(dbus.service.Object):
            @dbus.service.method("org.haul.Fake")
            def Ping(self):
                pass

            @dbus.service.method("org.haul.Fake", in_signature="s")
            def Own(self, name):
                names[name] = dbus.service.BusName(name, bus, do_not_queue=True)

            @dbus.service.method("org.haul.Fake", in_signature="s")
            def Disown(self, name):
                bus.release_name(name)
                names.pop(name).__dict__.clear()

            @dbus.service.method("org.haul.Fake", in_signature="u")
            def SetMetered(self, value):
                manager.metered = value
                manager.PropertiesChanged(MANAGER, {"Metered": dbus.UInt32(value)}, [])

            @dbus.service.method("org.haul.Fake", in_signature="b")
            def SetMarkup(self, markup):
                desktop.markup = markup

            @dbus.service.method("org.haul.Fake", out_signature="as")
            def Shown(self):
                return desktop.shown

        manager = Manager(bus, "/org/freedesktop/NetworkManager")
        desktop = Desktop(bus, "/org/freedesktop/Notifications")
        fake = Fake(bus, "/org/haul/Fake")
        names["org.haul.Fake"] = dbus.service.BusName("org.haul.Fake", bus)
        GLib.MainLoop().run()
        """#
}
