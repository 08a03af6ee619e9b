public import HaulKit

extension Configuration {
    /// Uses the services of a Linux desktop: ``NetworkManagerMeter`` as ``HaulKit/Configuration/networkMeter``, so that
    /// ``HaulKit/Configuration/allowsMetered`` takes effect, and ``DesktopNotifier`` as
    /// ``HaulKit/Configuration/notifier`` of ``HaulKit/Hook/desktopNotification(on:)``. Connects to nothing by itself.
    ///
    /// Where there is no such desktop, everything stays as without this call.
    public mutating func useDesktopServices() {
        networkMeter = NetworkManagerMeter()
        notifier = DesktopNotifier()
    }
}
