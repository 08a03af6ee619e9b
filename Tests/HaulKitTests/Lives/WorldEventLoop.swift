import Dispatch
import NIOCore

/// The event loop of the network in a simulated world.
final class WorldEventLoop: EventLoop {
    private unowned let world: World

    init(_ world: World) { self.world = world }

    var inEventLoop: Bool { world.isInLoop }
    var now: NIODeadline { .uptimeNanoseconds(UInt64(world.now)) }

    func execute(_ task: @escaping @Sendable () -> Void) { world.onLoop(task) }

    func scheduleTask<T>(deadline: NIODeadline, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        schedule(in: Int64(clamping: deadline.uptimeNanoseconds) - world.now, task)
    }

    func scheduleTask<T>(in delay: TimeAmount, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        schedule(in: delay.nanoseconds, task)
    }

    private func schedule<T>(in nanoseconds: Int64, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        let promise = makePromise(of: T.self)
        let world = world
        let timer = world.timer(in: nanoseconds, orAtTheEnd: { promise.fail(EventLoopError.shutdown) }) {
            world.onLoop {
                do { promise.assumeIsolated().succeed(try task()) } catch { promise.fail(error) }
            }
        }
        return Scheduled(promise: promise) {
            if world.cancelTimer(timer) { promise.fail(EventLoopError.cancelled) }
        }
    }

    func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        callback(nil)
    }
}
