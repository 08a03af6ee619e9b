internal import HaulKit
internal import NIOCore

/// Reports whether NetworkManager considers the network metered, over D-Bus.
///
/// Without NetworkManager, as on most servers, the value is unknown. The meter needs neither privileges nor a run loop.
package struct NetworkManagerMeter: NetworkMeter {
    private let bus: [DBusAddress]
    /// Time limit for an answer. The meter connects again to a bus that did not answer in time.
    private let patience: TimeAmount

    /// Creates a meter for the system bus: `DBUS_SYSTEM_BUS_ADDRESS`, else `/var/run/dbus/system_bus_socket`. The meter
    /// connects when ``readings()`` is called, not before.
    package init() { self.init(bus: DBusAddress.systemBus()) }

    init(bus: [DBusAddress], patience: TimeAmount = .seconds(2)) {
        self.bus = bus
        self.patience = patience
    }

    /// Returns a stream of values: the present value within 2 seconds, then a value after each change. A value may
    /// repeat. See ``HaulKit/NetworkMeter/readings()``.
    package func readings() -> AsyncStream<Bool?> {
        let (stream, continuation) = AsyncStream.makeStream(of: Bool?.self, bufferingPolicy: .bufferingNewest(1))
        let task = Task { [self] in
            await watch { continuation.yield($0) }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// Connects to the bus and reports values. Connects again after each loss if the bus exists.
    private func watch(_ report: @escaping @Sendable (Bool?) -> Void) async {
        var exists = false
        var rest = Duration.seconds(2)
        repeat {
            let deadline = NIODeadline.now() + patience
            do throws(DBusError) {
                let connection = try await DBusConnection.open(bus, until: deadline)
                exists = true
                if await follow(connection, until: deadline, report) { rest = .seconds(2) }
                connection.close()
            } catch {
                // If there is no bus or it refuses the connection, as on most servers, `exists` does not change. A bus
                // that times out exists.
                if case .timedOut = error { exists = true }
            }
            report(nil)
            // A bus that existed comes back after a restart. The sleep ends early when the task is cancelled.
            if exists { try? await Task.sleep(for: rest) }
            rest = min(rest * 2, .seconds(60))
        } while exists && !Task.isCancelled
    }

    private static let manager = "org.freedesktop.NetworkManager"
    private static let path = "/org/freedesktop/NetworkManager"

    /// Reports values until the connection ends. Asks NetworkManager again after every signal, so that the content of a
    /// signal need not be trusted.
    ///
    /// - Parameter deadline: time limit for the first answer.
    /// - Returns: false if the bus did not accept the match rules in time.
    private func follow(
        _ connection: DBusConnection,
        until deadline: NIODeadline,
        _ report: @Sendable (Bool?) -> Void
    ) async -> Bool {
        let rules = [
            "type='signal',sender='\(Self.manager)',path='\(Self.path)',interface='org.freedesktop.DBus.Properties',"
                + "member='PropertiesChanged'",
            "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
                + "member='NameOwnerChanged',arg0='\(Self.manager)'",
        ]
        do throws(DBusError) {
            for rule in rules {
                _ = try await connection.call(.toBus("AddMatch", [.string(rule)]), until: deadline)
            }
        } catch { return false }
        report(await Self.ask(connection, until: deadline))
        for await _ in connection.signals { report(await Self.ask(connection, until: .now() + patience)) }
        return true
    }

    private static func ask(_ connection: DBusConnection, until deadline: NIODeadline) async -> Bool? {
        let question = DBusMessage.call(
            to: manager,
            path: path,
            interface: "org.freedesktop.DBus.Properties",
            member: "Get",
            [.string(manager), .string("Metered")],
            // Does not start NetworkManager, because a stopped one manages no network.
            startsService: false
        )
        do throws(DBusError) {
            return meaning(try await connection.call(question, until: deadline).body)
        } catch { return nil }
    }

    /// `NMMetered`: 0 unknown, 1 yes, 2 no, 3 probably, 4 probably not.
    static func meaning(_ body: [DBusValue]) -> Bool? {
        guard body.count == 1, case .variant(.uint32(let value)) = body[0] else { return nil }
        switch value {
        case 1, 3: return true
        case 2, 4: return false
        default: return nil
        }
    }
}
