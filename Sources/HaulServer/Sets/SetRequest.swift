internal import Foundation
package import HaulKit

/// The source and the selection of a set, as a request names them.
package struct SetRequest: Codable, Hashable, Sendable {
    /// `hf://ORG/NAME`, or the URL of a list, a release, a Metalink or an index. May have secrets.
    package var source: String
    package var revision: String?
    package var select: [String] = []
    package var except: [String] = []
    /// Header fields for the origin of the list.
    package var headers: [HeaderField] = []

    private static let mostPatterns = 100

    package init(source: String) { self.source = source }

    /// - Throws: ``Problem`` for a field of a wrong type or value.
    init(_ body: inout JSONBody) throws {
        source = try body.required("source", String.self).trimmingCharacters(in: .whitespacesAndNewlines)
        if let problem = JSONBody.problem(of: source, "source", upTo: 64 << 10) { throw problem }
        revision = try body.text("revision", upTo: 1024).flatMap { $0.isEmpty ? nil : $0 }
        select = try body.optional("select") ?? []
        except = try body.optional("except") ?? []
        guard select.count + except.count <= Self.mostPatterns else {
            throw Problem.invalidField("select and except have more than \(Self.mostPatterns) patterns.")
        }
        for pattern in select + except {
            do throws(PathPattern.Unusable) { _ = try PathPattern(pattern) } catch {
                throw Problem.invalidField(error.sentence)
            }
        }
        headers = try AddOptions.headers(&body)
    }

    /// Reads the source.
    ///
    /// - Parameter access: names the hub. Links to pages of this hub count as sources.
    /// - Throws: ``DownloadError`` for a text that is no source, and for a local file, because a request must not make
    ///   the daemon read files.
    func text(_ access: HubAccess) throws(DownloadError) -> SetSourceText {
        let isURL = source.contains("://")
        let text = isURL ? try SetSourceText(source, hub: HTTPURL(access.endpoint)?.url) : nil
        if let text {
            guard case .file = text else { return text }
        }
        throw DownloadError(
            code: .invalidURL,
            message: "The source of a set is hf://ORG/NAME, or an http or https URL of a list, a release or a folder."
        )
    }

    /// - Parameter access: address and access token of the hub.
    func made(_ access: HubAccess) throws(DownloadError) -> any SetSource {
        try text(access).source(access: access, revision: revision)
    }

    /// The name of the set, safe as the name of a folder.
    func name(_ access: HubAccess) throws(DownloadError) -> String { try text(access).name(of: source) }

    var options: SetOptions {
        var options = SetOptions()
        (options.select, options.except, options.headers) = (select, except, headers)
        return options
    }

    /// The source without secrets.
    var maskedSource: String { SetSourceText.shown(source) }
}
