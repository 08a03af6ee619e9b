internal import Foundation

/// Runs a program and collects its output. No shell is involved.
package struct ProgramOutput: Sendable {
    /// The text that the program printed on standard output.
    package let text: String
    /// The end of the text on standard error, unmasked: at most ``most`` bytes. If the text was longer, the end begins
    /// with a whole word.
    package let complaint: String
    /// The exit status, or 256 plus the number of the signal that ended the program; 0 if other code of this process
    /// has reaped the program.
    package let status: Int32

    /// Largest standard output in bytes. A program that prints more is ended.
    package static let most = 64 << 10

    /// Runs the program to its end. If the task is cancelled, the program and its child processes get SIGTERM, and
    /// SIGKILL a second later.
    ///
    /// - Parameters:
    ///   - environment: the environment of the program, in place of that of this process.
    ///   - opensManyFiles: whether the program may open as many files as the hard limit allows.
    ///   - startThread: starts each of the three threads that wait for the program and read its output.
    /// - Throws: ``DownloadError`` when the program cannot be started or prints too much; `CancellationError`.
    package static func of(
        _ path: String,
        _ arguments: [String] = [],
        environment: [String: String],
        opensManyFiles: Bool = false,
        startThread: DetachedThread.Starter = DetachedThread.start
    ) async throws -> Self {
        try Task.checkCancellation()
        let (output, complaint) = (try PrintedText(keeping: .beginning(most)), try PrintedText(keeping: .end(most)))
        let program: RunningProgram
        do throws(SystemCalls.Errno) {
            program = try RunningProgram(
                path,
                arguments,
                environment: environment,
                outputs: (output.writeEnd, complaint.writeEnd),
                opensManyFiles: opensManyFiles,
                startThread: startThread
            )
        } catch { throw cannotRun(path, error.code) }
        // Kills a program that prints too much, because it might print without end.
        let codes = [
            output.read(startThread: startThread) { program.send(SIGKILL) },
            complaint.read(startThread: startThread) {},
        ]
        if let code = codes.first(where: { $0 != 0 }) {
            program.send(SIGKILL)
            _ = await program.ending()
            // Waits until the thread that was started has ended.
            for printed in [output, complaint] { _ = await printed.text() }
            throw cannotRun(path, code)
        }
        let ending = await withTaskCancellationHandler {
            await program.ending()
        } onCancel: {
            program.send(SIGTERM)
            Task.detached {
                // This task is never cancelled. A signal to a program that has ended has no effect.
                try? await Task.sleep(for: .seconds(1))
                program.send(SIGKILL)
            }
        }
        let (text, isWhole) = await output.text()
        let (last, _) = await complaint.text()
        try Task.checkCancellation()
        guard isWhole else {
            throw DownloadError(.sourceFailed, "\(path) printed more than \(most >> 10) KiB and was ended.")
        }
        let status: Int32 =
            switch ending {
            case .exited(let status): status
            case .killed(let signal): 256 + signal
            case .unknown: 0
            }
        return Self(text: text, complaint: last, status: status)
    }

    private static func cannotRun(_ path: String, _ code: Int32) -> DownloadError {
        let isForFiles = DiskError.Kind(errno: code) == .tooManyOpenFiles
        let reason = SystemCalls.describe(errno: code)
        return DownloadError(isForFiles ? .tooManyOpenFiles : .sourceFailed, "\(path) cannot be run.", cause: reason)
    }
}
