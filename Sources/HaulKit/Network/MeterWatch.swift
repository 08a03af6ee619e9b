internal import NIOCore

/// Follows whether NetworkManager holds the network for metered.
///
/// Every sign of a change only leads to asking again, so nothing that a signal says has to be believed.
final class MeterWatch: Sendable {
    private let task: Task<Void, Never>

    /// - Parameter report: told at first, and then after each change or more often; nil when nobody knows.
    init(_ bus: [DBusAddress], report: @escaping @Sendable (Bool?) -> Void) {
        task = Task {
            var hasFound = false
            repeat {
                let deadline = NIODeadline.now() + Self.patience
                // No bus, or one that does not let us in: as on most servers.
                if let connection = try? await DBusConnection.open(bus, until: deadline) {
                    hasFound = true
                    await Self.follow(connection, until: deadline, report)
                    connection.close()
                }
                report(nil)
                // A bus that was there comes back, if it was restarted. The wait is cut short by `stop`.
                if hasFound { try? await Task.sleep(for: .seconds(60)) }
            } while hasFound && !Task.isCancelled
        }
    }

    deinit { stop() }

    func stop() { task.cancel() }

    private static let manager = "org.freedesktop.NetworkManager"
    private static let path = "/org/freedesktop/NetworkManager"
    private static let patience = TimeAmount.seconds(2)

    /// Returns when the connection has ended.
    ///
    /// - Parameter deadline: for the first answer.
    private static func follow(
        _ connection: DBusConnection,
        until deadline: NIODeadline,
        _ report: @Sendable (Bool?) -> Void
    ) async {
        let rules = [
            "type='signal',sender='\(manager)',path='\(path)',interface='org.freedesktop.DBus.Properties',"
                + "member='PropertiesChanged'",
            "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
                + "member='NameOwnerChanged',arg0='\(manager)'",
        ]
        do throws(DBusError) {
            for rule in rules {
                _ = try await connection.call(.toBus("AddMatch", [.string(rule)]), until: deadline)
            }
        } catch { return }
        report(await ask(connection, until: deadline))
        for await _ in connection.signals { report(await ask(connection, until: .now() + patience)) }
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
