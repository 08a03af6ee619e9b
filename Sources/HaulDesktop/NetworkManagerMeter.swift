public import HaulKit
internal import NIOCore

/// Reports whether NetworkManager considers the network metered, over D-Bus.
///
/// Where no NetworkManager runs, as on most servers, the value is unknown. Needs neither privileges nor a run loop.
public struct NetworkManagerMeter: NetworkMeter {
    private let bus: [DBusAddress]
    /// Time for an answer. A bus that exists and does not answer in this time is asked again.
    private let patience: TimeAmount

    /// A meter that asks on the system bus: `DBUS_SYSTEM_BUS_ADDRESS`, else `/var/run/dbus/system_bus_socket`. Connects
    /// when ``readings()`` is called, not before.
    public init() { self.init(bus: DBusAddress.systemBus()) }

    init(bus: [DBusAddress], patience: TimeAmount = .seconds(2)) {
        self.bus = bus
        self.patience = patience
    }

    /// The present value first, after 2 seconds at most, then one after each change or more often; see
    /// ``HaulKit/NetworkMeter/readings()``.
    public func readings() -> AsyncStream<Bool?> {
        let (stream, continuation) = AsyncStream.makeStream(of: Bool?.self, bufferingPolicy: .bufferingNewest(1))
        let task = Task { [self] in
            await watch { continuation.yield($0) }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// Every sign of a change only leads to asking again, so nothing that a signal says has to be believed.
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
                // No bus, or one that does not let us in, as on most servers. A bus that is slow exists.
                if case .timedOut = error { exists = true }
            }
            report(nil)
            // A bus that was there comes back, if it was restarted. The wait ends when the task is cancelled.
            if exists { try? await Task.sleep(for: rest) }
            rest = min(rest * 2, .seconds(60))
        } while exists && !Task.isCancelled
    }

    private static let manager = "org.freedesktop.NetworkManager"
    private static let path = "/org/freedesktop/NetworkManager"

    /// Returns when the connection has ended.
    ///
    /// - Parameter deadline: for the first answer.
    /// - Returns: false when the bus did not answer in time.
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
            // Where it does not run, it manages nothing.
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
