internal import Foundation

/// Runs a program for what it prints. No shell reads anything of it.
package struct ProgramOutput: Sendable {
    /// What it printed on standard output.
    package let text: String
    /// The end of what it printed on standard error, as it stands: at most ``most`` bytes, and no part of a word.
    package let complaint: String
    /// Its exit status; 256 and the number of the signal that ended it.
    package let status: Int32

    /// A program that prints more than this is ended.
    package static let most = 64 << 10

    /// Runs it to its end. When the task is cancelled it is told to end, and with it what it started; a second later it is
    /// killed.
    ///
    /// - Parameters:
    ///   - environment: in place of that of this process.
    ///   - startThread: starts each of the three threads that wait for it and read what it prints.
    /// - Throws: ``DownloadError`` when it cannot be started or prints too much; `CancellationError`.
    package static func of(
        _ path: String,
        _ arguments: [String] = [],
        environment: [String: String],
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
                startThread: startThread
            )
        } catch { throw cannotRun(path, error.code) }
        // What it prints beyond that is not waited for, nor a program that prints without end.
        let codes = [
            output.read(startThread: startThread) { program.send(SIGKILL) },
            complaint.read(startThread: startThread) {},
        ]
        if let code = codes.first(where: { $0 != 0 }) {
            program.send(SIGKILL)
            _ = await program.ending()
            // Ends the thread that there is.
            for printed in [output, complaint] { _ = await printed.text() }
            throw cannotRun(path, code)
        }
        let ending = await withTaskCancellationHandler {
            await program.ending()
        } onCancel: {
            program.send(SIGTERM)
            Task.detached {
                // This is never cancelled; and a signal to a program that has ended goes nowhere.
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
