internal import Foundation

/// Runs a program for what it prints. No shell reads anything of it.
package struct ProgramOutput: Sendable {
    /// What it printed on standard output.
    package let text: String
    /// The end of what it printed on standard error.
    package let complaint: String
    /// Its exit status; 256 and the number of the signal that ended it.
    package let status: Int32

    /// A program that prints more than this is ended.
    package static let most = 64 << 10

    /// Runs it to its end. When the task is cancelled it is told to end, and with it what it started; a second later it is
    /// killed.
    ///
    /// - Parameter environment: in place of that of this process.
    /// - Throws: ``DownloadError`` when it cannot be started or prints too much; `CancellationError`.
    package static func of(_ path: String, _ arguments: [String] = [], environment: [String: String]) async throws
        -> Self
    {
        let (output, complaint) = (try PrintedText(keeping: .beginning(most)), try PrintedText(keeping: .end(512)))
        let program: RunningProgram
        do throws(SystemCalls.Errno) {
            program = try RunningProgram(
                path,
                arguments,
                environment: environment,
                outputs: (output.writeEnd, complaint.writeEnd)
            )
        } catch {
            let isForFiles = DiskError.Kind(errno: error.code) == .tooManyOpenFiles
            let reason = SystemCalls.describe(errno: error.code)
            throw DownloadError(isForFiles ? .tooManyOpenFiles : .sourceFailed, "\(path) cannot be run.", cause: reason)
        }
        // What it prints beyond that is not waited for, nor a program that prints without end.
        output.read { program.send(SIGKILL) }
        complaint.read {}
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
}
