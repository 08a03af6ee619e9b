internal import Logging

/// The services that are passed to the engine: network, disk, store, time, threads.
struct EngineServices: Sendable {
    let readers: SourceReaders
    let disk: any Disk
    let store: DownloadStore
    let time: EngineClock
    let executor: BlockingExecutor
    let descriptors: DescriptorBudget
    let placement: FilePlacement
    let cookieCollection: CookieCollection
    let logger: Logger
    let ffmpeg: FFmpeg.Terms
    /// `nil` in tests, whose decisions may not depend on the load of the machine.
    let processors: ProcessorLoad?
}
