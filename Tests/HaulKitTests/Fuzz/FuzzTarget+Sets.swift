import Foundation

@testable import HaulCore
@testable import HaulKit

/// Lists, answers and pages that name the files of a set.
extension FuzzTarget {
    private static let sha256 = String(repeating: "2b", count: 32)
    private static let sha1 = String(repeating: "1a", count: 20)

    static let sets: [FuzzTarget] = [
        FuzzTarget(
            "checksum lists",
            [
                "\(sha256)  a/b.iso\n\(sha256) *c.iso\r\n# remark\n\\\(sha256)  d\\ne\n",
                "SHA256 (a.iso) = \(sha256)\nMD5 (b) = 0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d\nSHA512/256 (c) = \(sha256)\n",
                "\u{FEFF}\(sha256)\n", "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n\(sha1)  ../a\n",
            ]
        ) { bytes in
            guard let list = try? ChecksumList(bytes, name: "a.iso.sha256") else { return nil }
            if list.lines.isEmpty, list.refused.isEmpty { return "a list of nothing" }
            if !ChecksumList.isMeant(by: bytes) { return "a list that counts as an ordinary file" }
            if Set(list.lines.map { Array($0.name.utf8) }).count != list.lines.count { return "a name twice" }
            for line in list.lines {
                if line.checksum.algorithm == .md5 || line.name.isEmpty { return "\(line)" }
                if list.checksum(of: line.name) == nil { return "\(line.name) is not found" }
            }
            guard let url = URL(string: "https://h/") else { return "no URL" }
            let files = list.lines.map { FileSet.File(name: $0.name, url: url, checksum: $0.checksum) }
            guard let placed = try? FileSet(files: files, origin: "list").placed() else { return "no place" }
            return misplaced(placed, of: files.count)
        },
        FuzzTarget(
            text: "trees of hubs",
            [
                "[{\"type\":\"file\",\"path\":\"a/b\",\"size\":5,\"oid\":\"\(sha1)\"},{\"type\":\"directory\",\"path\":\"a\"}]",
                "[{\"type\":\"file\",\"path\":\"a\",\"size\":1,\"lfs\":{\"oid\":\"\(sha256)\",\"size\":9}}]",
                "{\"sha\":\"\(sha1)\"}",
            ]
        ) { text in
            if let commit = try? HubAnswer.commit(Array(text.utf8)), commit.utf8.count != 40 { return commit }
            for entry in (try? HubAnswer.entries(Array(text.utf8))) ?? [] {
                if entry.size < 0 || entry.isFolder != (entry.checksum == nil) { return "\(entry)" }
            }
            return nil
        },
        FuzzTarget(
            text: "releases",
            [
                "{\"tag_name\":\"v1\",\"assets\":[{\"name\":\"a\",\"browser_download_url\":\"https://h/a\",\"size\":5}]}",
                "{\"assets\":{\"links\":[{\"name\":\"a\",\"url\":\"https://h/a\"}]}}",
            ]
        ) { text in
            for host in [ReleaseReference.Host.gitHub, .gitLab, .gitea] {
                guard let release = try? ReleaseAnswer(Array(text.utf8), from: host) else { continue }
                for asset in release.assets where !asset.url.isAskable || asset.size ?? 0 < 0 { return "\(asset)" }
            }
            return nil
        },
        FuzzTarget(
            "index pages",
            [
                "<title>x</title><a href=\"../\">..</a><a href='a%20b/'>d</a><a href=./c&amp;d#e>c</a><!-- <a href=x> -->",
                "<base href=\"/pub/d/\"><a href=\"/pub/d/e\"><a href=\"?C=N\"><a href=\"https://h/pub/a//b\"><a href=%2e%2e%2fx>",
                "[{\"name\":\"a b\",\"type\":\"file\",\"size\":5},{\"name\":\"..\",\"type\":\"directory\"}]",
            ]
        ) { bytes in
            guard let url = URL(string: "https://h/pub/") else { return "no URL" }
            guard let page = try? IndexPage(bytes, url: url, mediaType: nil) else { return nil }
            for link in page.files + page.folders {
                guard let target = HTTPURL(link.url)?.target, Origin(link.url) == Origin(url), link.url.query == nil
                else {
                    return "\(link.url) is elsewhere"
                }
                guard target.hasPrefix("/pub/") || target.removingPercentEncoding?.hasPrefix("/pub/") == true else {
                    return "\(link.url) is not below the folder"
                }
                for part in parts(link.path) where ["", ".", ".."].contains(part) { return "\(link.path)" }
            }
            return nil
        },
        FuzzTarget(
            text: "sources of sets",
            [
                "hf://datasets/org/name@refs/pr/1", "https://github.com/o/r/releases/tag/v1", "https://h/pub/",
                "https://g.example/g/s/p/-/releases/v%2F1", "https://h/SHA256SUMS",
                "https://hub.example/org/name/tree/main",
            ]
        ) { text in
            let hub = URL(string: "https://hub.example")
            switch try? SetSourceText(text, hub: hub) {
            case nil, .file?: return nil
            case .hub(let reference)?:
                return (try? HubReference(reference.description)) == reference ? nil : "\(reference)"
            case .release(let reference)?:
                guard let url = try? reference.apiURL() else { return "no API of \(reference)" }
                return url.isAskable ? nil : "\(url)"
            case .checksumList(let url)?, .metalink(let url)?, .index(let url)?: return url.isAskable ? nil : "\(url)"
            }
        },
        FuzzTarget(text: "patterns of names", ["**/a*/[!b-d]?.iso", "/docs/", "\\!a\n[[:alpha:]]/x", "a/**\na/b/c"]) {
            text in
            let lines = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
            guard let pattern = try? PathPattern(String(lines[0])), let name = lines.last.map(String.init) else {
                return nil
            }
            let isMatched = pattern.matches(name)
            return isMatched && !name.hasSuffix("/") && !pattern.matches(name + "/x")
                ? "a folder without its files" : nil
        },
    ]

    /// Returns a violated rule of placed files; `nil` if all hold.
    private static func misplaced(_ placed: PlacedSet, of count: Int) -> String? {
        if placed.files.count + placed.refused.count != count { return "a name is lost" }
        var paths: Set<String> = []
        for file in placed.files {
            // Hidden files of a set keep their names.
            let names = parts(file.path).map { part in
                let rest = part.utf8.drop { $0 == UInt8(ascii: ".") }
                return rest.isEmpty || rest.startIndex == part.startIndex ? part : "_" + String(Substring(rest))
            }
            if let wrong = names.lazy.compactMap(unsafe).first { return "\(file.path): \(wrong)" }
            if !paths.insert(file.path).inserted { return "\(file.path) twice" }
        }
        for path in paths {
            var folder = FilePaths.folder(of: path)
            while folder != "." {
                if paths.contains(folder) { return "\(folder) is a file and a folder" }
                folder = FilePaths.folder(of: folder)
            }
        }
        return nil
    }
}
