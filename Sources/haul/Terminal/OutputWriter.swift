import Dispatch
import Foundation
import HaulKit
import Synchronization

/// Prints on a thread of its own, so that a reader that stops reading blocks only that thread. If the system cannot
/// start the thread, the caller prints.
///
/// Each line is written whole before the next one, even if the descriptor accepts it in parts.
final class OutputWriter: Sendable {
    private struct State {
        var queue: OutputQueue
        var hasThread = false
        var isWriting = false
        /// Descriptors whose reader has ended, or that are not open.
        var closed: Set<Int32> = []
        /// Descriptors in `closed` that are pipes or sockets whose reader has ended.
        var left: Set<Int32> = []
        /// Descriptors on which a write failed for another reason.
        var failed: Set<Int32> = []
        /// Descriptors with a line that was cut off by an error.
        var broken: Set<Int32> = []
        var waiting: [DispatchSemaphore] = []
    }
    private let state: Mutex<State>
    private let work = DispatchSemaphore(value: 0)
    /// Held by the thread that prints.
    private let printing = Mutex(())
    private let startThread: DetachedThread.Starter

    init(_ bounds: OutputQueue.Bounds = .init(), startThread: @escaping DetachedThread.Starter = DetachedThread.start) {
        state = Mutex(State(queue: OutputQueue(bounds)))
        self.startThread = startThread
    }

    /// Queues a text and returns at once. If the system cannot start the thread, prints all queued texts before it
    /// returns.
    ///
    /// - Parameter id: the download that the text is about; `nil` for none.
    func put(_ text: String, to descriptor: Int32, _ importance: OutputQueue.Importance = .end, of id: String? = nil) {
        let isFirst = state.withLock { state in
            state.queue.put(.init(text: text, descriptor: descriptor), importance, of: id)
            defer { state.hasThread = true }
            return !state.hasThread
        }
        if isFirst, startThread({ [self] in run() }) != 0 {
            // The next call tries to start a thread again. This call also prints texts that other callers have queued
            // meanwhile.
            state.withLock { $0.hasThread = false }
            return printAll()
        }
        work.signal()
    }

    /// Whether lines wait to be printed or are being printed.
    var isBehind: Bool { state.withLock { $0.isWriting || !$0.queue.isEmpty } }

    /// Number of lines that were lost, because the queue was full, the reader has ended, or a write failed.
    func lost(_ descriptor: Int32) -> Int { state.withLock { $0.queue.dropped[descriptor] ?? 0 } }

    /// Whether the reader of a pipe has ended, as `head` does.
    func isLeft(_ descriptor: Int32) -> Bool { state.withLock { $0.left.contains(descriptor) } }

    /// Whether a write failed although the descriptor is open and has a reader: the disk is full, for example.
    func hasFailed(_ descriptor: Int32) -> Bool { state.withLock { $0.failed.contains(descriptor) } }

    /// Waits until the queue is empty or `isEnough` returns `true`. Calls `isEnough` every 20 ms.
    ///
    /// - Returns: whether the queue is empty. ``lost(_:)`` counts the lines that could not be written.
    @discardableResult
    func finish(unless isEnough: () -> Bool) -> Bool {
        let done = DispatchSemaphore(value: 0)
        let isDone = state.withLock { state in
            if !state.isWriting, state.queue.isEmpty { return true }
            state.waiting.append(done)
            return false
        }
        if isDone { return true }
        while done.wait(timeout: .now() + .milliseconds(20)) == .timedOut {
            if isEnough() { return !isBehind }
        }
        return true
    }

    private func run() {
        while true {
            work.wait()
            printAll()
        }
    }

    private func printAll() {
        printing.withLock { _ in
            while let line = next() {
                if !write(line) { state.withLock { $0.queue.lost(line) } }
            }
        }
    }

    private func next() -> OutputQueue.Line? {
        state.withLock { state in
            let line = state.queue.next()
            state.isWriting = line != nil
            guard line == nil else { return line }
            for waiting in state.waiting { waiting.signal() }
            state.waiting = []
            return nil
        }
    }

    /// - Returns: `false` if the line was not written whole.
    private func write(_ line: OutputQueue.Line) -> Bool {
        let (isClosed, isBroken) = state.withLock { state in
            (state.closed.contains(line.descriptor), state.broken.contains(line.descriptor))
        }
        if isClosed { return false }
        // Begins on a new line if an error has cut off the previous line.
        var text = isBroken ? "\n" + line.text : line.text
        let count = text.utf8.count
        var written = 0
        let code = text.withUTF8 { Self.write($0, to: line.descriptor, &written) }
        state.withLock { state in
            if code == 0 {
                state.broken.remove(line.descriptor)
            } else if code == EPIPE || code == EBADF {
                state.closed.insert(line.descriptor)
                if code == EPIPE { state.left.insert(line.descriptor) }
            } else {
                state.failed.insert(line.descriptor)
                if written > 0 { state.broken.insert(line.descriptor) }
            }
        }
        return written == count
    }

    /// - Returns: 0, or the errno of the write that failed.
    private static func write(_ bytes: UnsafeBufferPointer<UInt8>, to descriptor: Int32, _ written: inout Int) -> Int32
    {
        while written < bytes.count {
            let rest = UnsafeBufferPointer(rebasing: bytes[written...])
            let count = Foundation.write(descriptor, rest.baseAddress, rest.count)
            if count > 0 {
                written += count
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                // Another process that shares the descriptor has set O_NONBLOCK. The flag stays as it is.
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
            case let code: return code
            }
        }
        return 0
    }
}
