internal import Foundation

/// Runs a program for what it prints. No shell reads anything of it.
package struct ProgramOutput: Sendable {
    /// What it printed on standard output, as far as ``most`` bytes go.
    package let text: String
    /// The end of what it printed on standard error.
    package let complaint: String
    /// Its exit status; 256 and the number of the signal that ended it.
    package let status: Int32

    /// More than this of an output is not read.
    package static let most = 64 << 10

    /// Runs it to its end. When the task is cancelled it is told to end, and with it what it started; a second later it is
    /// killed.
    ///
    /// - Parameter environment: in place of that of this process.
    /// - Throws: ``DownloadError`` when it cannot be started; `CancellationError`.
    package static func of(_ path: String, _ arguments: [String] = [], environment: [String: String]) async throws
        -> Self
    {
        // Files rather than pipes: who is left running in the background keeps nobody waiting for the end of a pipe.
        let (output, complaint) = (try ScratchFile(), try ScratchFile())
        let program: RunningProgram
        do throws(SystemCalls.Errno) {
            program = try RunningProgram(
                path,
                arguments,
                environment: environment,
                outputs: (output.descriptor, complaint.descriptor)
            )
        } catch {
            let reason = SystemCalls.describe(errno: error.code)
            throw DownloadError(.sourceFailed, "\(path) cannot be run.", cause: reason)
        }
        let ending = await withTaskCancellationHandler {
            await program.ending()
        } onCancel: {
            program.send(SIGTERM)
            Task.detached {
                // Nobody cancels this; and a signal to a program that has ended goes nowhere.
                try? await Task.sleep(for: .seconds(1))
                program.send(SIGKILL)
            }
        }
        try Task.checkCancellation()
        let status: Int32 =
            switch ending {
            case .exited(let status): status
            case .killed(let signal): 256 + signal
            case .unknown: 0
            }
        return Self(text: output.text(from: 0), complaint: complaint.text(from: -512), status: status)
    }
}

/// A file without a name, which goes when it is closed.
private final class ScratchFile: Sendable {
    let descriptor: Int32

    init() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("haul-\(UUID().uuidString)").path
        do throws(SystemCalls.Errno) {
            descriptor = try SystemCalls.open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        } catch {
            throw DownloadError(.diskFailed, "\(path) cannot be made.", cause: SystemCalls.describe(errno: error.code))
        }
        unlink(path)
    }

    deinit { SystemCalls.close(descriptor) }

    /// - Parameter offset: below 0 it counts from the end.
    func text(from offset: Int64) -> String {
        let size = Int64(lseek(descriptor, 0, SEEK_END))
        let start = offset < 0 ? max(0, size + offset) : offset
        let text = withUnsafeTemporaryAllocation(byteCount: ProgramOutput.most, alignment: 1) { buffer in
            // What cannot be read back says nothing.
            let count = (try? SystemCalls.read(descriptor, into: buffer, at: start)) ?? 0
            return String(decoding: UnsafeRawBufferPointer(rebasing: buffer[..<max(0, count)]), as: UTF8.self)
        }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
