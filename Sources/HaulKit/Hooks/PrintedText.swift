internal import Foundation
internal import Synchronization

/// The output of a program on one of its streams, read as it comes and kept up to a limit.
final class PrintedText: Sendable {
    /// The part of a long output that is kept.
    enum Kept: Sendable {
        case beginning(Int)
        case end(Int)
    }

    private struct State {
        var bytes: [UInt8] = []
        var isWhole = true
        /// Whether the beginning of the output was dropped, because only its end is kept.
        var isCut = false
        /// The write end of the pipe for the program. Haul closes its own copy once the program has one.
        var writeEnd: Int32?
        var hasProgramEnded = false
        var isRead = false
        var waiting: CheckedContinuation<Void, Never>?
    }
    private let kept: Kept
    private let readEnd: Int32
    private let state: Mutex<State>

    /// - Throws: ``DownloadError`` if no pipe can be made.
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

    /// The descriptor to pass to the program.
    var writeEnd: Int32 { state.withLock { $0.writeEnd ?? -1 } }

    /// Starts reading on a thread of its own. Start the program before this call, which closes Haul's copy of the write
    /// end.
    ///
    /// - Parameters:
    ///   - startThread: starts that thread.
    ///   - onTooMuch: called once if the output exceeds the limit of ``Kept/beginning(_:)``.
    /// - Returns: 0, or the errno if no thread could be started. In that case nothing is read.
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

    /// Returns the kept text. Call this method only after the program has ended: reading then stops when the pipe is
    /// empty. `isWhole` is `false` if the output exceeded the limit of ``Kept/beginning(_:)``.
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
            // Drops the first word of a cut text, because a part of a URL could be its secret.
            let blanks = Set(" \t\r\n".utf8)
            let bytes = state.isCut ? state.bytes.drop { !blanks.contains($0) } : state.bytes[...]
            let text = String(decoding: bytes, as: UTF8.self)
            return (text.trimmingCharacters(in: .whitespacesAndNewlines), state.isWhole)
        }
    }

    /// - Returns: the number of bytes read; `nil` if no more will come, or none came after the program had ended. Does
    ///   not wait for programs that the program left running in the background.
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
                // Reads at most 64 KiB more: the pipe holds no more, so any further bytes come from other programs.
                rest -= count
                guard rest >= 0 else { return nil }
            }
            return count
        }
    }

    /// - Returns: whether the output has just exceeded the limit.
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
