public import HaulKit

extension Downloader.Configuration {
    /// Uses the services of a Linux desktop: ``NetworkManagerMeter`` as ``HaulKit/Downloader/Configuration/Network/meter``, so that
    /// ``HaulKit/Downloader/Configuration/Network/allowsMetered`` takes effect, and ``DesktopNotifier`` as
    /// ``HaulKit/Downloader/Configuration/Hooks/notifier`` of ``HaulKit/Downloader/Hook/desktopNotification(on:)``. Connects to nothing by itself.
    ///
    /// Where there is no such desktop, everything stays as without this call.
    public mutating func useDesktopServices() {
        network.meter = NetworkManagerMeter()
        hooks.notifier = DesktopNotifier()
    }
}
