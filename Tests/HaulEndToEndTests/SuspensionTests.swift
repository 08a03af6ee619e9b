import Foundation
import HaulTesting
import Synchronization
import Testing

/// Stops, continues and ends the command (Ctrl-\\) on a terminal. The user must then find a visible cursor.
@Suite(.timeLimit(.minutes(60)))
struct SuspensionTests {
    private static let hidden = "\u{1B}[?25l"
    private static let shown = "\u{1B}[?25h"

    let haul: HaulCommand

    init() throws { haul = try HaulCommand() }

    /// Runs `haul get` on a terminal, with a file that never completes.
    private func run(_ test: (Int32, Pseudoterminal) async throws -> Void) async throws -> SystemCommand.Ending {
        let server = try await TestServer.start { request in
            var resource = FileResource(content: TestContent(seed: 1, count: 1_000_000))
            (resource.bodyLimit, resource.ending) = (1000, .stall)
            return resource.reply(to: request)
        }
        let terminal = try Pseudoterminal()
        var environment = haul.environment
        environment["TERM"] = "xterm"
        let process = try SystemCommand.start(
            [HaulCommand.path, "get", "--timeout", "9000", server.url("/file.bin")],
            environment: environment,
            folder: haul.folder.path,
            outputs: (terminal.slave, terminal.slave)
        )
        terminal.beginReading()
        var failure: (any Error)?
        do { try await test(process, terminal) } catch {
            failure = error
            kill(process, SIGKILL)
        }
        let ending = SystemCommand.end(of: process)
        await server.stop()
        if let failure { throw failure }
        return ending
    }

    /// Returns the state of a process as the letter of proc(5).
    private func state(_ process: Int32) throws -> Character? {
        let text = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        return text.range(of: ") ").map { text[$0.upperBound] }
    }

    @Test func ctrlZLeavesTheTerminalAsItWasAndFgDrawsAgain() async throws {
        let ending = try await run { process, terminal in
            try await until { terminal.text.contains("file.bin") }
            kill(process, SIGTSTP)
            try await until { try state(process) == "T" }
            try await until { terminal.text.hasSuffix(Self.shown) }
            terminal.forget()
            kill(process, SIGCONT)
            try await until { terminal.text.contains(Self.hidden) && terminal.text.contains("file.bin") }
            // The command can be stopped again.
            kill(process, SIGTSTP)
            try await until { try state(process) == "T" }
            try await until { terminal.text.hasSuffix(Self.shown) }
            kill(process, SIGCONT)
            kill(process, SIGINT)
            try await until { terminal.text.contains("Interrupted.") }
        }
        #expect(ending == .exited(130))
    }

    @Test func ctrlBackslashShowsTheCursorAndEndsTheProcess() async throws {
        let ending = try await run { process, terminal in
            try await until { terminal.text.contains("file.bin") }
            kill(process, SIGQUIT)
            try await until { terminal.text.hasSuffix(Self.shown) }
        }
        #expect(ending == .killed(signal: SIGQUIT))
    }

    @Test func drawsAgainAfterAStopThatItDidNotSee() async throws {
        _ = try await run { process, terminal in
            try await until { terminal.text.contains("file.bin") }
            kill(process, SIGSTOP)
            try await until { try state(process) == "T" }
            terminal.forget()
            kill(process, SIGCONT)
            try await until { terminal.text.contains(Self.hidden) && terminal.text.contains("file.bin") }
            kill(process, SIGKILL)
        }
    }
}

/// A pseudoterminal that the test controls.
private final class Pseudoterminal: Sendable {
    /// The descriptor that the program has as its terminal.
    let slave: Int32
    private let master: Int32
    private let received = Mutex("")

    struct Failure: Error {}

    init() throws {
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        // The numbers are TIOCSPTLCK and TIOCGPTN (ioctl_tty(2)). posix_openpt(3) and related functions are behind a
        // feature macro.
        var (lock, number): (Int32, Int32) = (0, 0)
        guard master >= 0, ioctl(master, 0x4004_5431, &lock) == 0, ioctl(master, 0x8004_5430, &number) == 0 else {
            throw Failure()
        }
        slave = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard slave >= 0 else { throw Failure() }
    }

    deinit {
        close(slave)
        close(master)
    }

    /// Output since the last ``forget()``.
    var text: String { received.withLock(\.self) }

    func forget() { received.withLock { $0 = "" } }

    func beginReading() {
        let copy = dup(master)
        Thread.detachNewThread { [weak self] in
            defer { close(copy) }
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = buffer.withUnsafeMutableBytes { read(copy, $0.baseAddress, $0.count) }
                guard count > 0, let self else { return }
                received.withLock { $0 += String(decoding: buffer[..<count], as: UTF8.self) }
            }
        }
    }
}
