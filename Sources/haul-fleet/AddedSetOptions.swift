import ArgumentParser
import Foundation
import HaulFleet
import HaulKit

/// The options of `haul-fleet add` about a set whose publisher names its files.
struct AddedSetOptions: ParsableArguments {
    @Option(
        help: """
            Add the files of a set: hf://ORG/NAME[@REVISION], the URL of a list of digests, of a Metalink, of the page of a release, or \
            of a folder with a slash at the end.
            """
    )
    var set: String?

    @Option(help: "Take only names that match, in gitignore's form: '*.safetensors', 'weights/**'. Repeatable.")
    var select: [String] = []

    @Option(help: "Leave out names that match, in the same form. Repeatable.")
    var except: [String] = []

    @Option(help: "Branch, tag or commit of an hf:// source.")
    var revision: String?

    @Option(help: "How many folders deep an index is read. Default: 5, and an index with deeper ones is not added.")
    var maxDepth: Int?

    @Option(help: "Folder of the set below the destination. Default: a folder that is named after the source.")
    var under: String?

    @Option(help: "OpenPGP signature of the list: a file or a URL.", completion: .file())
    var signature: String?

    @Option(
        help: "File with the OpenPGP keys that may sign. Without --signature the list has to be signed in itself.",
        completion: .file()
    )
    var keyring: String?

    @Option(help: "Public key of minisign, or its file.")
    var minisign: String?

    func validate() throws {
        if let maxDepth, !(0...1000).contains(maxDepth) {
            throw ValidationError("--max-depth takes a number from 0 to 1000.")
        }
        guard keyring == nil || minisign == nil else {
            throw ValidationError("--keyring and --minisign do not go together.")
        }
        guard signature == nil || keyring != nil || minisign != nil else {
            throw ValidationError("--signature proves nothing without --keyring or --minisign.")
        }
        let needsSet =
            !select.isEmpty || !except.isEmpty || [revision, under, keyring, minisign].contains { $0 != nil }
        guard set != nil || !needsSet else {
            throw ValidationError("--select, --except, --revision, --under, --keyring and --minisign are about --set.")
        }
    }

    /// Lists the files of a set. None of them is asked for.
    ///
    /// - Throws: ``DownloadError``, also for a list whose signature is wrong.
    func files(of text: String) async throws -> SetPreview {
        let environment = ProcessInfo.processInfo.environment
        let access = HubAccess(environment: environment)
        let kind = try SetSourceText(text, hub: HTTPURL(access.endpoint)?.url)
        let signed = try signatureOfList()
        if signed != nil {
            guard case .checksumList = kind else {
                throw ValidationError("--keyring and --minisign prove a list of digests, and \(URL.cut(text)) is none.")
            }
        }
        let source = try kind.source(access: access, revision: revision, depth: maxDepth, signature: signed)
        var options = SetOptions()
        (options.select, options.except) = (select, except)
        var configuration = Downloader.Configuration()
        configuration.storage.isInMemory = true
        configuration.network.waitsForNetwork = false
        configuration.network.proxies = try .environment(environment)
        let downloader = try await Downloader(configuration)
        do throws(DownloadError) {
            let set = try await downloader.preview(source, options: options)
            await downloader.shutDown()
            return set
        } catch {
            await downloader.shutDown()
            if error.status == 401 || error.status == 403 {
                FleetOutput.note("HF_TOKEN gives the access token of a model hub.")
            }
            throw error
        }
    }

    private func signatureOfList() throws -> SetSignature? {
        let place = try signature.map { text in
            text.contains("://") ? try SpelledURL(text).url : URL(fileURLWithPath: text)
        }
        if let keyring { return .openPGP(place, keyring: keyring) }
        return minisign.map { .minisign(place, key: $0) }
    }
}
