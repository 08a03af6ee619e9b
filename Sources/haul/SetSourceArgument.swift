import ArgumentParser
import CommandWords
import Foundation
import HaulKit

/// The source of a set as it was typed.
struct SetSourceArgument {
    let source: any SetSource

    /// - Throws: `ValidationError` for a text that is no source, and for options that do not go with the kind of the
    ///   source.
    init(_ text: String, _ options: SetCommandOptions, _ signature: SignatureOptions) throws {
        let kind: SetSourceText
        let access = HubAccess(environment: ProcessInfo.processInfo.environment)
        do throws(DownloadError) { kind = try SetSourceText(text, hub: HTTPURL(access.endpoint)?.url) } catch {
            throw ValidationError(error.message)
        }
        let signed = try signature.value(for: kind, spelled: text)
        if options.selection.revision != nil {
            guard case .hub = kind else { throw ValidationError("--revision is for an hf:// source.") }
        }
        source = try Self.source(kind, access, options, signed)
    }

    private static func source(
        _ kind: SetSourceText,
        _ access: HubAccess,
        _ options: SetCommandOptions,
        _ signature: SetSignature?
    ) throws -> any SetSource {
        do throws(DownloadError) {
            if case .file(let path) = kind { return try file(path, options, signature) }
            return try kind.source(
                access: access,
                revision: options.selection.revision,
                depth: options.selection.maxDepth,
                signature: signature
            )
        } catch { throw Complaint(error.message, ExitStatus(error) == .disk ? .disk : .usage) }
    }

    private static func file(_ path: String, _ options: SetCommandOptions, _ signature: SetSignature?)
        throws(DownloadError) -> any SetSource
    {
        guard FileManager.default.fileExists(atPath: path) else {
            // Hides secrets of the text, because it may be a mistyped URL with credentials.
            throw DownloadError(DiskError(.notFound, call: "open", path: SetSourceText.shown(path)))
        }
        if SetReceiptSource.isReceipt(path) {
            guard options.check else {
                throw DownloadError(
                    .invalidURL,
                    "\(SetSourceText.shown(path)) is a receipt, which has no URLs: use it with --check."
                )
            }
            return SetReceiptSource(path)
        }
        if let base = options.base.flatMap({ HTTPURL($0)?.url }) {
            return ChecksumListSource(file: path, base: base, signature: signature)
        }
        guard options.check else {
            throw DownloadError(
                .invalidURL,
                "\(SetSourceText.shown(path)) is a list on this disk: name the URL of its files with --base."
            )
        }
        return ChecksumListSource(comparing: path, signature: signature)
    }
}
