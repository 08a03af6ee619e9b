import Foundation
import HaulKit
import Synchronization

/// `--refresh-command`: a program that prints a URL.
///
/// Its environment names the download and the reason (`HAUL_ID`, `HAUL_KEY`, `HAUL_URL`, `HAUL_REASON`, `HAUL_STATUS`). It prints the
/// URL on its first line; further lines are header fields for that URL, `Name: value`. Without any the download keeps its own.
struct RefreshCommand: Sendable {
    let path: String

    /// The reason for which no URL was obtained.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// How many of these programs are wanted or run.
    private static let running = Mutex(0)

    /// Waits until the programs that were told to end have done so, or have been killed, which takes a second.
    static func waitForEnds() async {
        let deadline = ContinuousClock.now + .seconds(3)
        while running.withLock({ $0 > 0 }), .now < deadline {
            // Never cancelled; it would then only ask more often.
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

    /// The end of what the program complained of, without the secrets of URLs. They are removed before it is cut: the rest of a URL
    /// could not be told from other text.
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

    /// - Parameter base: the environment of this process; Haul's variables in it belong to another command and are removed.
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
