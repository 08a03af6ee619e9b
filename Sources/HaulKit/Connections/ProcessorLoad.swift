internal import Synchronization

/// Measures the time in which this process used at least half a processor, and no processor was free for another half.
/// More connections do not bring more bytes then.
final class ProcessorLoad: Sendable {
    private let read: @Sendable (_ previous: ProcessorReading?) -> ProcessorReading
    private let state: Mutex<(last: ProcessorReading?, crowded: Duration)>

    /// - Parameter read: reads the counters; gets the previous reading. It may leave out the counters of the machine.
    init(_ read: @escaping @Sendable (ProcessorReading?) -> ProcessorReading) {
        self.read = read
        state = Mutex((nil, .zero))
    }

    /// Returns the crowded time so far, in periods of at least ``shortest``.
    func crowdedTime(at now: Instant) -> Duration {
        state.withLock { state in
            guard let last = state.last else {
                state.last = read(nil)
                return state.crowded
            }
            guard now - last.at >= Self.shortest else { return state.crowded }
            let reading = read(last)
            if reading.isCrowded(since: last) { state.crowded += reading.at - last.at }
            state.last = reading
            return state.crowded
        }
    }

    /// Shortest period. The counters of the machine advance in steps of 10 ms.
    private static let shortest = Duration.milliseconds(90)
}

/// Counters of the processors at one moment.
struct ProcessorReading: Sendable, Equatable {
    let at: Instant
    /// Processor time of this process.
    let own: Duration
    /// Processor time of the machine in ticks; `nil` if it was not read.
    let machine: MachineTicks?

    struct MachineTicks: Sendable, Equatable {
        let idle: UInt64
        let all: UInt64
        var processors = 1

        /// Reads the first line of `/proc/stat`: user, nice, system, idle, waiting for the disk, and others.
        init?(statLine text: String) {
            guard let line = text.split(separator: "\n").first, line.hasPrefix("cpu ") else { return nil }
            // The last two are parts of the first two.
            let ticks = line.split(separator: " ").dropFirst().prefix(8).compactMap { UInt64($0) }
            guard ticks.count == 8 else { return nil }
            var all: UInt64 = 0
            for count in ticks { all = all.addingReportingOverflow(count).partialValue }
            idle = ticks[3].addingReportingOverflow(ticks[4]).partialValue
            self.all = all
        }

        init(idle: UInt64, all: UInt64, processors: Int = 1) {
            (self.idle, self.all, self.processors) = (idle, all, processors)
        }
    }

    /// Number of processors that this process must use for a period to count.
    static let leastOwn = 0.5
    /// Number of idle processors from which on a period does not count.
    private static let leastIdle = 0.5

    func isCrowded(since last: ProcessorReading) -> Bool {
        let elapsed = (at - last.at).seconds
        guard elapsed > 0, (own - last.own).seconds >= Self.leastOwn * elapsed, let machine, let before = last.machine,
            machine.all > before.all, machine.idle >= before.idle
        else { return false }
        let idle = Double(machine.idle - before.idle) / Double(machine.all - before.all)
        return idle * Double(machine.processors) < Self.leastIdle
    }
}

extension ProcessorLoad {
    /// Reads the counters of this process and of a Linux machine. Reads those of the machine only while this process is
    /// busy, because the kernel adds up the counters of every processor for it.
    static func ofMachine(_ now: @escaping @Sendable () -> Instant) -> ProcessorLoad {
        ProcessorLoad { previous in
            let (at, own) = (now(), SystemCalls.processorTime())
            let isBusy = previous.map { (own - $0.own).seconds >= ProcessorReading.leastOwn / 2 * (at - $0.at).seconds }
            return ProcessorReading(at: at, own: own, machine: isBusy == false ? nil : SystemCalls.machineTicks())
        }
    }
}
