package import Foundation

/// The output of a program that names a link: the URL on the first line, header fields for the URL on the next lines.
package struct PrintedSource: Sendable, Hashable {
    /// A fault of the output. No text of the output is shown, because it may hold a secret.
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
