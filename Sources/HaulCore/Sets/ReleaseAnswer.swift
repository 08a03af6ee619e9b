package import Foundation

/// The files of a release, as the API of its server lists them.
package struct ReleaseAnswer: Sendable, Hashable {
    package struct Asset: Sendable, Hashable {
        package let name: String
        package let url: URL
        /// Length in bytes; `nil` if the server does not state it.
        package let size: Int64?
        /// `nil` if the server states no digest that Haul can compute, or MD5 alone.
        package let checksum: DownloadRequest.Checksum?
    }

    /// The tag of the release; `nil` if the server does not state it.
    package let tag: String?
    /// In the order of the server.
    package let assets: [Asset]
    /// Sentences about the assets for which the server states MD5 alone, by the name of the asset.
    package let unproved: [String: String]
    /// Assets without a URL that can be requested.
    package let refused: [RefusedName]

    /// The assets that are checksum lists.
    package var checksumLists: [Asset] { assets.filter { ChecksumList.isName($0.name) } }

    /// Largest answer that is read, in bytes.
    package static let maximumBytes = 64 << 20

    /// - Throws: ``DownloadError/Code/invalidSet`` for an answer that is not as documented.
    package init(_ bytes: [UInt8], from host: ReleaseReference.Host) throws(DownloadError) {
        var assets: [Asset] = []
        var refused: [RefusedName] = []
        var unproved: [String: String] = [:]
        func add(_ name: String, _ text: String, _ size: Int64?, _ checksum: DownloadRequest.Checksum?) {
            if let url = HTTPURL(text)?.url, url.user == nil {
                assets.append(Asset(name: name, url: url, size: size, checksum: checksum))
            } else {
                refused.append(RefusedName(name, "The release names no URL for \(URL.cut(name)) that can be asked."))
            }
        }
        switch host {
        case .gitHub, .gitea:
            let answer: Release = try SetAnswer.decoded(bytes, limit: Self.maximumBytes, of: "the server")
            tag = answer.tag
            try Self.check(answer.assets.count)
            for asset in answer.assets {
                guard asset.size.map(SetAnswer.sizes.contains) ?? true else {
                    throw .invalidSet("the server names no possible length of \(URL.cut(asset.name))")
                }
                let checksum = try Self.checksum(asset)
                if checksum?.algorithm == .md5 {
                    let name = VisibleText.line(URL.cut(asset.name))
                    unproved[asset.name] = "The release has MD5 alone, which proves nothing, for \(name)."
                }
                add(asset.name, asset.url, asset.size, checksum?.algorithm == .md5 ? nil : checksum)
            }
        case .gitLab:
            let answer: Project = try SetAnswer.decoded(bytes, limit: Self.maximumBytes, of: "the server")
            tag = answer.tag
            try Self.check(answer.assets.links.count)
            for link in answer.assets.links { add(link.name, link.url, nil, nil) }
        }
        self.assets = assets
        self.refused = refused
        self.unproved = unproved
    }

    private static func check(_ count: Int) throws(DownloadError) {
        guard count <= FileSet.maximumNames else {
            throw .invalidSet("it has more than \(FileSet.maximumNames) names")
        }
    }

    /// - Returns: `nil` without a digest, and for one of an algorithm that Haul cannot compute.
    private static func checksum(_ asset: Release.Asset) throws(DownloadError) -> DownloadRequest.Checksum? {
        guard let digest = asset.digest, !digest.isEmpty else { return nil }
        guard ["md5:", "sha1:", "sha256:", "sha512:"].contains(where: digest.lowercased().hasPrefix) else { return nil }
        do throws(DownloadError) { return try DownloadRequest.Checksum(digest) } catch {
            throw .invalidSet("the server names no digest of \(URL.cut(asset.name))", cause: error.message)
        }
    }

    private struct Release: Decodable {
        struct Asset: Decodable {
            let name: String
            let url: String
            let size: Int64?
            let digest: String?

            enum CodingKeys: String, CodingKey {
                case name, size, digest
                case url = "browser_download_url"
            }
        }

        let tag: String?
        let assets: [Asset]

        enum CodingKeys: String, CodingKey {
            case assets
            case tag = "tag_name"
        }
    }

    private struct Project: Decodable {
        struct Assets: Decodable {
            let links: [Link]
        }
        struct Link: Decodable {
            let name: String
            let url: String
        }

        let tag: String?
        let assets: Assets

        enum CodingKeys: String, CodingKey {
            case assets
            case tag = "tag_name"
        }
    }
}
