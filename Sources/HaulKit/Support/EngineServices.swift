internal import Logging

/// What the engine acts through, all of it handed in: network, disk, store, time, threads.
struct EngineServices: Sendable {
    let transport: any Transport
    let disk: any Disk
    let store: DownloadStore
    let time: EngineClock
    let executor: BlockingExecutor
    let descriptors: DescriptorBudget
    let placement: FilePlacement
    let cookieCollection: CookieCollection
    let logger: Logger
}

extension Downloader {
    nonisolated var transport: any Transport { services.transport }
    nonisolated var disk: any Disk { services.disk }
    nonisolated var store: DownloadStore { services.store }
    nonisolated var time: EngineClock { services.time }
    nonisolated var executor: BlockingExecutor { services.executor }
    nonisolated var descriptors: DescriptorBudget { services.descriptors }
    nonisolated var placement: FilePlacement { services.placement }
    nonisolated var cookieCollection: CookieCollection { services.cookieCollection }
    nonisolated var logger: Logger { services.logger }
}
