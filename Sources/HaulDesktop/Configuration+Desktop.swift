public import HaulKit

extension Downloader.Configuration {
    /// Uses the services of a Linux desktop. The call itself opens no connection.
    ///
    /// - Sets ``HaulKit/Downloader/Configuration/Network/meter`` to a meter that asks NetworkManager, so that
    ///   ``HaulKit/Downloader/Configuration/Network/allowsMetered`` takes effect.
    /// - Sets ``HaulKit/Downloader/Configuration/Hooks/notifier`` to a notifier that reaches the desktop session over
    ///   D-Bus, for ``HaulKit/Downloader/Hook/desktopNotification(on:)``.
    ///
    /// Without such a desktop, the downloader behaves as without this call.
    ///
    /// - Parameter applicationName: the name that the desktop shows with each notification.
    public mutating func useDesktopServices(applicationName: String = "Haul") {
        network.meter = NetworkManagerMeter()
        var notifier = DesktopNotifier()
        notifier.applicationName = applicationName
        hooks.notifier = notifier
    }
}
