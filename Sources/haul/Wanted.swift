import Foundation
import HaulKit

/// The requests of one command, and the parts of its lists that are no requests.
struct Wanted {
    /// A line of a list that is not a URL, or a file of a Metalink that cannot be used.
    struct Unreadable {
        /// Index in ``requests`` at which the request of the line or file would be.
        let position: Int
        let place: String
        /// The line, without parts that may be secret.
        let text: String
        let reason: String
        var status = ExitStatus.usage
        /// The error code in JSON.
        var code = DownloadError.Code.invalidURL
    }

    private(set) var requests: [DownloadRequest] = []
    private(set) var unreadable: [Unreadable] = []
    /// Errors by index in ``requests``, for files without a known digest. Such files are not requested.
    private(set) var unproved: [Int: DownloadError] = [:]
    private var list: InputList?
    /// Line numbers by index in ``requests``; 0 for requests from elsewhere.
    private var numbers: [Int32] = []

    init(_ requests: [DownloadRequest] = []) { self.requests = requests }

    mutating func add(_ request: DownloadRequest) { requests.append(request) }

    /// Adds a request for each line of a list. A line that is not a URL is recorded in ``unreadable``.
    mutating func add(_ list: InputList, _ request: (String) throws -> DownloadRequest) {
        self.list = list
        numbers = [Int32](repeating: 0, count: requests.count)
        for line in list.lines {
            do {
                requests.append(try request(line.text))
                numbers.append(Int32(clamping: line.number))
            } catch {
                let reason = (error as? Complaint)?.sentence ?? "\(error)"
                unreadable.append(
                    .init(
                        position: requests.count,
                        place: list.place(line.number),
                        text: Self.masked(line.text),
                        reason: reason
                    )
                )
            }
        }
    }

    /// Records the files of a Metalink that its reader refused, so that the command reports them as failures.
    mutating func add(leftOut files: [RefusedName], of metalink: String) {
        unreadable += files.map { file in
            Unreadable(
                position: requests.count,
                place: SetSourceText.shown(metalink),
                text: VisibleText.line(file.name),
                reason: file.reason,
                status: .refusedByServer,
                code: .invalidMetalink
            )
        }
    }

    /// Gives each request without a digest the digest from a list. If the list does not name the file of a request,
    /// records the error in ``unproved``.
    mutating func take(_ checksums: ListedChecksums) {
        for index in requests.indices where requests[index].checksum == nil {
            do throws(DownloadError) { requests[index].checksum = try checksums.checksum(of: requests[index]) } catch {
                unproved[index] = error
            }
        }
    }

    /// Returns file and line of a request, or `nil` if the request does not come from a list.
    func place(of position: Int) -> String? {
        guard let list, numbers.indices.contains(position), numbers[position] > 0 else { return nil }
        return list.place(Int(numbers[position]))
    }

    /// Returns a line for display, at most 200 characters of it. Removes queries and user info before an `@`, because a
    /// line that is not a URL may have secrets anywhere.
    static func masked(_ text: String) -> String {
        let shown = URL.maskedWithoutHost(text)
        let printable = shown.unicodeScalars.prefix(200).map { scalar in
            ["\u{0}"..<" ", "\u{7F}"..<"\u{A0}"].contains { $0.contains(scalar) } ? "\u{FFFD}" : scalar
        }
        return String(String.UnicodeScalarView(printable)) + (shown.unicodeScalars.count > 200 ? "…" : "")
    }
}
