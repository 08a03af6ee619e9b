/// When downloads may run at all.
extension Downloader {
    /// Changes on which networks downloads run, from now on. Downloads that may no longer run are held, and continue when they
    /// may. Does nothing after ``shutDown()``.
    ///
    /// - Parameters:
    ///   - waitsForNetwork: see ``Downloader/Configuration/Network/waitsForNetwork``; `nil`: unchanged.
    ///   - allowsMetered: see ``Downloader/Configuration/Network/allowsMetered``; `nil`: unchanged.
    public func setNetworkPolicy(waitsForNetwork: Bool? = nil, allowsMetered: Bool? = nil) {
        guard !isShuttingDown else { return }
        scheduler.setNetworkPolicy(waitsForNetwork: waitsForNetwork, allowsMetered: allowsMetered)
    }

    /// Replaces the timetable from now on; `nil` for none. Not remembered for the next start. Does nothing after ``shutDown()``.
    public func setTimetable(_ timetable: Timetable?) {
        guard !isShuttingDown else { return }
        scheduler.setTimetable(timetable)
    }
}
