import Foundation
import HaulKit
import Synchronization

/// `--refresh-command`: a program that prints a URL within ``Downloader/Configuration/Sources/timeout``.
///
/// Its environment names the download and the reason (`HAUL_ID`, `HAUL_KEY`, `HAUL_URL`, `HAUL_REASON`, `HAUL_STATUS`).
/// The program prints the URL on its first line, and header fields for that URL (`Name: value`) on further lines.
/// Without further lines the download keeps its own header fields.
struct RefreshCommand: Sendable {
    let path: String

    /// Reason why the program gave no URL, as a clause for a sentence.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The number of calls of `source(_:)` that have not returned.
    private static let running = Mutex(0)

    /// Waits up to 3 s until all programs have ended. A program that was told to end is killed after one second.
    static func waitForEnds() async {
        let deadline = ContinuousClock.now + .seconds(3)
        while running.withLock({ $0 > 0 }), .now < deadline {
            // If the task is cancelled, the loop only polls more often.
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    func source(_ query: SourceQuery) async throws -> DownloadSource {
        Self.running.withLock { $0 += 1 }
        defer { Self.running.withLock { $0 -= 1 } }
        let environment = Self.environment(query, over: ProcessInfo.processInfo.environment)
        let output = try await ProgramOutput.of(path, environment: environment)
        guard output.status == 0 else {
            let end = output.status < 256 ? "with status \(output.status)" : "by signal \(output.status - 256)"
            let complaint = Self.complaint(output.complaint, query.url)
            throw Failure(description: "\(path) ended \(end)\(complaint.isEmpty ? "" : ": \(complaint)")")
        }
        return try source(output.text)
    }

    /// Returns the last 512 characters that the program printed on standard error, without the secrets of URLs. Secrets
    /// are removed before the text is cut, because the rest of a URL cannot be told from other text.
    static func complaint(_ text: String, _ url: URL?) -> String {
        String(URL.maskedText(text, knowing: url).unicodeScalars.suffix(512))
    }

    /// - Parameter text: the output of the program.
    func source(_ text: String) throws -> DownloadSource {
        do throws(PrintedSource.Fault) {
            let printed = try PrintedSource(text)
            return DownloadSource(printed.url, headers: printed.headers.isEmpty ? nil : printed.headers)
        } catch {
            switch error {
            case .isEmpty: throw Failure(description: "\(path) printed no URL")
            case .isNoURL:
                throw Failure(description: "the first line that \(path) printed is no http or https URL")
            case .hasOddLine:
                throw Failure(description: "\(path) printed a line that is no header field, as 'Name: value'")
            }
        }
    }

    /// - Parameter base: the environment of this process. Haul's variables in it belong to another command, and are
    ///   replaced or removed.
    static func environment(_ query: SourceQuery, over base: [String: String]) -> [String: String] {
        var environment = base
        environment["HAUL_ID"] = query.id.description
        environment["HAUL_KEY"] = query.key
        environment["HAUL_URL"] = query.url?.absoluteString
        environment["HAUL_STATUS"] = nil
        switch query.reason {
        case .noneYet: environment["HAUL_REASON"] = "none-yet"
        case .refused(let status):
            environment["HAUL_REASON"] = "refused"
            environment["HAUL_STATUS"] = "\(status)"
        case .expiring: environment["HAUL_REASON"] = "expiring"
        }
        return environment
    }
}
