package import Foundation

/// What a program prints that names a link: its URL on the first line, header fields for it on those that follow.
package struct PrintedSource: Sendable, Hashable {
    /// What is wrong with the text. None of it is shown, since it may hold a secret.
    package enum Fault: Error { case isEmpty, isNoURL, hasOddLine }

    package let url: URL
    package let headers: [HeaderField]

    package init(_ text: String) throws(Fault) {
        let lines = text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
        guard let first = lines.first, !first.isEmpty else { throw .isEmpty }
        guard let url = HTTPURL(first)?.url else { throw .isNoURL }
        var headers: [HeaderField] = []
        for line in lines.dropFirst() where !line.isEmpty {
            guard let field = HeaderField(line) else { throw .hasOddLine }
            headers.append(field)
        }
        (self.url, self.headers) = (url, headers)
    }
}
