import Foundation

/// Results go to standard output, everything else to standard error.
enum Output {
    static func result(_ line: String) { write(line + "\n", to: STDOUT_FILENO) }
    static func error(_ sentence: String) { write("haul: \(sentence)\n", to: STDERR_FILENO) }
    static func note(_ line: String) { write(line + "\n", to: STDERR_FILENO) }

    /// Writes all of it. A reader that went away ends the process, as SIGPIPE would have.
    static func write(_ text: String, to descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let written = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if written > 0 {
                bytes = bytes.dropFirst(written)
            } else if errno == EPIPE {
                Terminal.restore()
                _exit(128 + SIGPIPE)
            } else if errno == EAGAIN {
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
            } else if errno != EINTR {
                return
            }
        }
    }
}
