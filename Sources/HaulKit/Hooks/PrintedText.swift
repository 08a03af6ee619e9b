internal import Foundation
internal import Synchronization

/// What a program prints on one of its streams, read as it comes and kept within a bound.
final class PrintedText: Sendable {
    /// Which of many bytes are kept.
    enum Kept: Sendable {
        case beginning(Int)
        case end(Int)
    }

    private struct State {
        var bytes: [UInt8] = []
        var isWhole = true
        /// Of an end: whether the beginning is missing.
        var isCut = false
        /// Where the program finds it; closed on our side once it has.
        var writeEnd: Int32?
        var hasProgramEnded = false
        var isRead = false
        var waiting: CheckedContinuation<Void, Never>?
    }
    private let kept: Kept
    private let readEnd: Int32
    private let state: Mutex<State>

    /// - Throws: ``DownloadError``, where no pipe can be had.
    init(keeping kept: Kept) throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            let error = DiskError(errno: errno, call: "pipe", path: "a program's output")
            throw DownloadError(error.kind == .tooManyOpenFiles ? .tooManyOpenFiles : .sourceFailed, error.sentence)
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        self.kept = kept
        readEnd = ends[0]
        state = Mutex(State(writeEnd: ends[1]))
    }

    deinit {
        SystemCalls.close(readEnd)
        if let end = state.withLock({ $0.writeEnd }) { SystemCalls.close(end) }
    }

    /// What the program is to be given.
    var writeEnd: Int32 { state.withLock { $0.writeEnd ?? -1 } }

    /// Reads on a thread of its own from now on; the program has its end by now.
    ///
    /// - Parameters:
    ///   - startThread: starts that thread.
    ///   - onTooMuch: called when more has come than is kept of a beginning.
    /// - Returns: 0, or the errno for which there is no thread: nothing is read then.
    func read(
        startThread: DetachedThread.Starter = DetachedThread.start,
        onTooMuch: @escaping @Sendable () -> Void
    ) -> Int32 {
        let end = state.withLock { state in
            defer { state.writeEnd = nil }
            return state.writeEnd
        }
        if let end { SystemCalls.close(end) }
        let code = startThread { [self] in
            var buffer = [UInt8](repeating: 0, count: 16 << 10)
            var rest = 64 << 10
            while let count = next(&buffer, &rest) {
                let isTooMuch = state.withLock { keep(buffer[..<count], &$0) }
                if isTooMuch { onTooMuch() }
            }
            let waiting = state.withLock { state in
                state.isRead = true
                defer { state.waiting = nil }
                return state.waiting
            }
            waiting?.resume()
        }
        if code != 0 { state.withLock { $0.isRead = true } }
        return code
    }

    /// All that was kept, once the program has ended; and whether that is all that it printed.
    func text() async -> (text: String, isWhole: Bool) {
        await withCheckedContinuation { continuation in
            let isRead = state.withLock { state in
                state.hasProgramEnded = true
                if !state.isRead { state.waiting = continuation }
                return state.isRead
            }
            if isRead { continuation.resume() }
        }
        return state.withLock { state in
            // The rest of a word says nothing, and of a URL it could be the secret part.
            let blanks = Set(" \t\r\n".utf8)
            let bytes = state.isCut ? state.bytes.drop { !blanks.contains($0) } : state.bytes[...]
            let text = String(decoding: bytes, as: UTF8.self)
            return (text.trimmingCharacters(in: .whitespacesAndNewlines), state.isWhole)
        }
    }

    /// - Returns: how many bytes came; nil when no more will, or none did after the program had ended: a program that it left running
    ///   in the background is not waited for.
    private func next(_ buffer: inout [UInt8], _ rest: inout Int) -> Int? {
        while true {
            let hasEnded = state.withLock { $0.hasProgramEnded }
            if hasEnded, !state.withLock({ $0.isWhole }) { return nil }
            var ready = pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0)
            let answer = poll(&ready, 1, hasEnded ? 0 : 20)
            if answer < 0, errno == EINTR { continue }
            if answer == 0, !hasEnded { continue }
            guard answer > 0 else { return nil }
            let count = buffer.withUnsafeMutableBytes { Foundation.read(readEnd, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            if hasEnded {
                // What the program itself printed is in the pipe, which holds no more.
                rest -= count
                guard rest >= 0 else { return nil }
            }
            return count
        }
    }

    /// - Returns: whether it has just become too much.
    private func keep(_ bytes: ArraySlice<UInt8>, _ state: inout State) -> Bool {
        switch kept {
        case .end(let most):
            if state.bytes.count + bytes.count > most { state.isCut = true }
            state.bytes = Array((state.bytes + bytes).suffix(most))
            return false
        case .beginning(let most):
            let left = most - state.bytes.count
            state.bytes += bytes.prefix(left)
            guard bytes.count > left, state.isWhole else { return false }
            state.isWhole = false
            return true
        }
    }
}
