import ArgumentParser
import CommandWords
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

    @OptionGroup var selection: SetSelectionOptions

    @Option(help: "Folder of the set below the destination. Default: a folder that is named after the source.")
    var under: String?

    @OptionGroup var signature: SignatureOptions

    func validate() throws {
        guard set != nil || !(selection.isUsed || signature.isUsed || under != nil) else {
            throw ValidationError(
                """
                --select, --except, --revision, --max-depth, --under, --signature, --keyring and --minisign need \
                --set.
                """
            )
        }
    }

    /// Lists the files of a set without requesting the files themselves.
    ///
    /// - Throws: ``DownloadError``, also for a list whose signature is wrong.
    func files(of text: String) async throws -> FileSet {
        let environment = ProcessInfo.processInfo.environment
        let access = HubAccess(environment: environment)
        let kind = try SetSourceText(text, hub: HTTPURL(access.endpoint)?.url)
        let signed = try signature.value(for: kind, spelled: text)
        let source = try kind.source(
            access: access,
            revision: selection.revision,
            depth: selection.maxDepth,
            signature: signed
        )
        var configuration = Downloader.Configuration()
        configuration.storage.isInMemory = true
        configuration.network.waitsForNetwork = false
        configuration.network.proxies = try .environment(environment)
        let downloader = try await Downloader(configuration)
        do throws(DownloadError) {
            let set = try await downloader.preview(source, options: selection.settings)
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
}
