import Testing

@testable import HaulDesktop

struct DBusAddressTests {
    @Test(
        arguments: [
            ("unix:path=/run/bus", [.path("/run/bus")]),
            ("unix:path=/run/bus,guid=12ab", [.path("/run/bus")]),
            ("unix:abstract=/tmp/dbus-x,guid=1;unix:path=/a%20b", [.abstract("/tmp/dbus-x"), .path("/a b")]),
            ("tcp:host=localhost,port=1;unix:path=/b", [.path("/b")]),
            ("unix:tmpdir=/tmp", []), ("", []), (";;", []), ("unix:path", []), ("unix:path=/a%00b", []),
            ("unix:path=%zz", []),
        ] as [(String, [DBusAddress])]
    )
    func readsLists(text: String, addresses: [DBusAddress]) {
        #expect(DBusAddress.read(text) == addresses)
    }

    @Test func findsTheBusesThatTheEnvironmentNames() {
        #expect(DBusAddress.systemBus([:]) == [.path("/var/run/dbus/system_bus_socket")])
        #expect(DBusAddress.systemBus(["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/x"]) == [.path("/x")])
        #expect(DBusAddress.sessionBus([:]) == [])
        #expect(DBusAddress.sessionBus(["XDG_RUNTIME_DIR": "/run/user/1"]) == [.path("/run/user/1/bus")])
        #expect(DBusAddress.sessionBus(["XDG_RUNTIME_DIR": "relative"]) == [])
        #expect(
            DBusAddress.sessionBus(["XDG_RUNTIME_DIR": "/run", "DBUS_SESSION_BUS_ADDRESS": "unix:abstract=y"])
                == [.abstract("y")]
        )
    }
}
