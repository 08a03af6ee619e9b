import Foundation
import HaulKit

/// What one command is to download, and what of it could not be understood.
struct Wanted {
    /// A line of a list that is no URL.
    struct Unreadable {
        /// The place in ``requests`` at which it would stand.
        let position: Int
        let place: String
        /// The line, without what may be a secret.
        let text: String
        let reason: String
    }

    private(set) var requests: [DownloadRequest] = []
    private(set) var unreadable: [Unreadable] = []
    private var list: InputList?
    /// By the place in ``requests``: 0 for what does not come from the list.
    private var numbers: [Int32] = []

    init(_ requests: [DownloadRequest] = []) { self.requests = requests }

    mutating func add(_ request: DownloadRequest) { requests.append(request) }

    /// Takes over a list. A line that is no URL is remembered, and the others go on.
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

    /// Where in a list a request stands; nil when it comes from elsewhere.
    func place(of position: Int) -> String? {
        guard let list, numbers.indices.contains(position), numbers[position] > 0 else { return nil }
        return list.place(Int(numbers[position]))
    }

    /// Nobody knows what is a secret in a line that is no URL; queries and what stands before an `@` often are.
    static func masked(_ text: String) -> String {
        let shown = URL.maskedWithoutHost(text)
        let printable = shown.unicodeScalars.prefix(200).map { scalar in
            ["\u{0}"..<" ", "\u{7F}"..<"\u{A0}"].contains { $0.contains(scalar) } ? "\u{FFFD}" : scalar
        }
        return String(String.UnicodeScalarView(printable)) + (shown.unicodeScalars.count > 200 ? "…" : "")
    }
}
