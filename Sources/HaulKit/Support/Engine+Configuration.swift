extension Engine {
    /// Applies `new` to the parts of the engine, and to the tasks in memory that have neither a slot nor open work. The
    /// other tasks keep their retry policy and their limits of connections until their run ends.
    func apply(_ new: Downloader.Configuration) {
        let old = environment.configuration
        environment.configuration = new
        environment.services.readers.take(new)
        scheduler.queue.limits = new.queueLimits(within: environment.services.descriptors)
        environment.space.setLimits(
            reserve: new.storage.reservedDiskSpace,
            quota: new.storage.diskQuota,
            catalog.tasks.values
        )
        for task in catalog.tasks.values where !task.hasOpenWork && !scheduler.queue.runs(task.id) {
            task.send(catalog.factory.reconfiguration)
        }
        if old.hooks.actions != new.hooks.actions { environment.notifications.setHooks(new.hooks.actions) }
        if old.network.bytesPerSecond != new.network.bytesPerSecond {
            speed.ownLimit = new.network.bytesPerSecond
            speed.limit(environment.conditions.conditions.bytesPerSecond)
        }
        if old.queue.timetable != new.queue.timetable { scheduler.setTimetable(new.queue.timetable) }
        let (before, after) = (old.network, new.network)
        if before.waitsForNetwork != after.waitsForNetwork || before.allowsMetered != after.allowsMetered {
            scheduler.setNetworkPolicy(waitsForNetwork: after.waitsForNetwork, allowsMetered: after.allowsMetered)
        }
        if before.binding != after.binding { scheduler.setBinding(after.binding) }
        if old.connections.maxPerHost != new.connections.maxPerHost {
            environment.pool.setLimit(new.connections.maxPerHost)
            broker.limitChanged()
        }
        if old.storage.keepsFinishedRecords != new.storage.keepsFinishedRecords { scheduler.records.look() }
        scheduler.startQueuedDownloads()
    }
}
