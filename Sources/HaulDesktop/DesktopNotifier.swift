internal import HaulKit
internal import NIOCore

/// Shows notifications on the user's desktop (Desktop Notifications Specification, over D-Bus).
///
/// Without a desktop session, as on a server, it shows nothing.
package struct DesktopNotifier: Notifier {
    enum Urgency: UInt8, Sendable { case low, normal, critical }

    /// Name of the application that the desktop shows with each notification. Default: `Haul`.
    package var applicationName = "Haul"
    private let bus: [DBusAddress]
    /// Time limit for a whole notification, because a desktop may never answer.
    private let patience: TimeAmount
    private static let service = "org.freedesktop.Notifications"
    /// Limit of characters for each text; no desktop shows more.
    private static let mostCharacters = 1000

    /// Creates a notifier for the session of this user: `DBUS_SESSION_BUS_ADDRESS`, else `$XDG_RUNTIME_DIR/bus`. The
    /// notifier opens a connection for each notification.
    package init() { self.init(bus: DBusAddress.sessionBus()) }

    init(bus: [DBusAddress], patience: TimeAmount = .seconds(2)) {
        self.bus = bus
        self.patience = patience
    }

    /// Shows a notification; takes 2 seconds at most. Characters below U+0020 except line feeds are left out, and
    /// markup is shown as text.
    ///
    /// - Returns: whether a desktop accepted the notification.
    package func notify(title: String, body: String) async -> Bool { await notify(title, body: body) }

    /// Shows a notification. Takes 2 seconds at most by default.
    ///
    /// - Returns: whether a desktop accepted the notification; false on a server without a desktop, which is no
    ///   failure.
    @discardableResult
    func notify(_ title: String, body: String = "", urgency: Urgency = .normal) async -> Bool {
        let deadline = NIODeadline.now() + patience
        do throws(DBusError) {
            let connection = try await DBusConnection.open(bus, until: deadline)
            defer { connection.close() }
            let abilities = try await connection.call(Self.call("GetCapabilities"), until: deadline).body
            let message = Self.notification(
                from: applicationName,
                title,
                body: body,
                urgency: urgency,
                readsMarkup: Self.readsMarkup(abilities)
            )
            _ = try await connection.call(message, until: deadline)
            return true
        } catch { return false }
    }

    static func notification(
        from application: String,
        _ title: String,
        body: String,
        urgency: Urgency,
        readsMarkup: Bool
    ) -> DBusMessage {
        call(
            "Notify",
            [
                .string(plain(application)),
                .uint32(0),  // replaces no earlier notification
                .string("folder-download"),
                .string(plain(title)),
                .string(readsMarkup ? escaped(plain(body)) : plain(body)),
                .array(of: .string, []),  // no buttons
                .array(
                    of: .entry(.string, .variant),
                    [.entry(.string("urgency"), .variant(.byte(urgency.rawValue)))]
                ),
                .int32(-1),  // the desktop chooses how long it shows the notification
            ]
        )
    }

    private static func call(_ member: String, _ body: [DBusValue] = []) -> DBusMessage {
        .call(to: service, path: "/org/freedesktop/Notifications", interface: service, member: member, body)
    }

    private static func readsMarkup(_ body: [DBusValue]) -> Bool {
        guard case .array(_, let abilities) = body.first else { return false }
        return abilities.contains(.string("body-markup"))
    }

    /// Escapes markup, because a name from a server must not become a link or a picture.
    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }

    /// Removes the characters below U+0020 except line feeds, above all NUL, and cuts the text to ``mostCharacters``.
    private static func plain(_ text: String) -> String {
        String(
            String.UnicodeScalarView(text.unicodeScalars.filter { $0.value >= 32 || $0 == "\n" }).prefix(mostCharacters)
        )
    }
}
