import Foundation
import HaulTesting
import NIOCore
import Testing

@testable import HaulCore
@testable import HaulDesktop
@testable import HaulKit

/// Tests HaulDesktop with a real message bus and with services of another implementation.
@Suite(
    .timeLimit(.minutes(60)),
    .enabled(if: PrivateBus.isPossible, "needs dbus-daemon and python3 with dbus and gi")
)
struct DesktopBusTests {
    private static let manager = DBusValue.string("org.freedesktop.NetworkManager")
    private static let desktop = DBusValue.string("org.freedesktop.Notifications")

    @Test(arguments: [false, true])
    func followsNetworkManagerThroughItsComingAndGoing(isAbstract: Bool) async throws {
        let bus = try await PrivateBus.start(isAbstract: isAbstract)
        let monitor = SystemNetworkMonitor(meter: NetworkManagerMeter(bus: bus.addresses, patience: .minutes(5))) {
            () throws(SystemCalls.Errno) in
            throw SystemCalls.Errno(code: EPERM)
        }
        var statuses = monitor.statuses().makeAsyncIterator()
        #expect(await statuses.next() == .unknown)
        try await bus.tell("Own", Self.manager)
        try await bus.tell("SetMetered", .uint32(1))
        #expect(await statuses.next()?.isMetered == true)
        try await bus.tell("SetMetered", .uint32(4))
        #expect(await statuses.next()?.isMetered == false)
        try await bus.tell("SetMetered", .uint32(3))
        #expect(await statuses.next()?.isMetered == true)
        try await bus.tell("Disown", Self.manager)
        #expect(await statuses.next() == .unknown)
        try await bus.tell("Own", Self.manager)
        #expect(await statuses.next()?.isMetered == true)
        await bus.stop()
        #expect(await statuses.next() == .unknown)
        monitor.stop()
        #expect(await statuses.next() == nil)
    }

    @Test func knowsBeforeItsFirstWordWhetherTheNetworkIsMetered() async throws {
        let bus = try await PrivateBus.start()
        try await bus.tell("Own", Self.manager)
        try await bus.tell("SetMetered", .uint32(1))
        let monitor = SystemNetworkMonitor(meter: NetworkManagerMeter(bus: bus.addresses, patience: .minutes(5))) {
            () throws(SystemCalls.Errno) in
            try SystemCalls.openNetlink()
        }
        var statuses = monitor.statuses().makeAsyncIterator()
        #expect(await statuses.next()?.isMetered == true)
    }

    @Test func showsANotification() async throws {
        let bus = try await PrivateBus.start()
        let notifier = DesktopNotifier(bus: bus.addresses, patience: .minutes(5))
        #expect(await notifier.notify("Done") == false)
        try await bus.tell("Own", Self.desktop)
        #expect(await notifier.notify("Done", body: "<b>&", urgency: .critical))
        try await bus.tell("SetMarkup", .boolean(true))
        #expect(await notifier.notify("Done", body: "<b>&\nhäul 📦", urgency: .low))
        let shown: [DBusValue] = [.string("Haul|Done|<b>&|2"), .string("Haul|Done|&lt;b&gt;&amp;\nhäul 📦|0")]
        #expect(try await bus.tell("Shown") == [.array(of: .string, shown)])
    }

    @Test func aServiceThatDoesNotAnswerIsGivenUp() async throws {
        let bus = try await PrivateBus.start()
        try await bus.tell("Own", Self.desktop)
        let connection = try await DBusConnection.open(bus.addresses, until: .now() + .minutes(5))
        let call = DBusMessage.call(
            to: "org.freedesktop.Notifications",
            path: "/org/freedesktop/Notifications",
            interface: "org.freedesktop.Notifications.Silent",
            member: "Silent"
        )
        await #expect(throws: DBusError.timedOut) {
            try await connection.call(call, until: .now() + .milliseconds(50))
        }
        // The connection stays usable.
        #expect(try await connection.call(.toBus("GetId"), until: .now() + .minutes(5)).body.count == 1)
        await #expect(throws: DBusError.refused("org.freedesktop.DBus.Error.UnknownMethod")) {
            try await connection.call(.toBus("NoSuchMethod"), until: .now() + .minutes(5))
        }
        await bus.stop()
        await #expect(throws: DBusError.notConnected) {
            try await connection.call(.toBus("GetId"), until: .now() + .minutes(5))
        }
    }
}
