public import HaulKit

extension Downloader.Configuration {
    /// Uses the services of a Linux desktop. Connects to nothing by itself.
    ///
    /// - Sets ``HaulKit/Downloader/Configuration/Network/meter`` to a ``NetworkManagerMeter``, so that
    ///   ``HaulKit/Downloader/Configuration/Network/allowsMetered`` takes effect.
    /// - Sets ``HaulKit/Downloader/Configuration/Hooks/notifier`` to a ``DesktopNotifier``, for
    ///   ``HaulKit/Downloader/Hook/desktopNotification(on:)``.
    ///
    /// Without such a desktop, the downloader behaves as without this call.
    public mutating func useDesktopServices() {
        network.meter = NetworkManagerMeter()
        hooks.notifier = DesktopNotifier()
    }
}
