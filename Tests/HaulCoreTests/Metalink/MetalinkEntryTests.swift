import Foundation
import Testing

@testable import HaulCore

/// Documents in which one entry is unusable and others are usable.
struct MetalinkEntryTests {
    private let good = "<file name=\"good\">\(MetalinkText.url)</file>"

    @Test(arguments: [
        "<file name=\"bad\"><url>ftp://h/a</url></file>", "<file name=\"../up\">\(MetalinkText.url)</file>",
        "<file>\(MetalinkText.url)</file>", "<file name=\"bad\"/>",
        "<file name=\"bad\"><hash type=\"sha-256\">x</hash>\(MetalinkText.url)</file>",
        "<file name=\"bad\"><size>x</size>\(MetalinkText.url)</file>",
        "<file name=\"bad\"><size>1</size><size>2</size>\(MetalinkText.url)</file>",
        "<file name=\"bad\"><pieces length=\"0\" type=\"sha-1\"><hash>x</hash></pieces>\(MetalinkText.url)</file>",
    ])
    func leavesOutAFileThatCannotBeUsedAndSaysSo(_ bad: String) throws {
        for files in [bad + good, good + bad] {
            let metalink = try Metalink(text: MetalinkText.four(files: files))
            #expect(metalink.files.map(\.name) == ["good"])
            #expect(metalink.remarks.count == 1)
            #expect(metalink.remarks.first?.hasSuffix("It is left out.") == true)
        }
        #expect(refusal(MetalinkText.four(files: bad)) != nil)
    }

    @Test(arguments: [
        "<hash type=\"md5\">x</hash><hash type=\"sha-256\">\(MetalinkText.sha256)</hash>",
        "<hash type=\"sha-256\">\(MetalinkText.sha256)</hash><hash type=\"sha-512\">zz</hash>",
        "<size>x</size><hash type=\"sha-256\">\(MetalinkText.sha256)</hash>",
        "<size>16</size><hash type=\"sha-256\">\(MetalinkText.sha256)</hash>"
            + MetalinkText.pieces("4", [MetalinkText.sha1]),
        "<hash type=\"sha-256\">\(MetalinkText.sha256)</hash>" + MetalinkText.pieces("0", [MetalinkText.sha1]),
        "<hash type=\"sha-256\">\(MetalinkText.sha256)</hash>" + MetalinkText.pieces("4", [MetalinkText.sha1, "x"]),
    ])
    func keepsADigestBesideWhatCannotBeRead(_ inFile: String) throws {
        let metalink = try Metalink(text: MetalinkText.four(inFile + MetalinkText.url))
        let file = try #require(metalink.files.first)
        #expect(file.checksum?.algorithm == .sha256 && file.pieces == nil)
        #expect(metalink.remarks.count == 1)
        #expect(metalink.remarks.first?.contains("the file a.iso has") == true)
    }

    @Test func keepsPiecesThatProveTheWholeBesideADigestThatIsNone() throws {
        let pieces = MetalinkText.pieces("8", [MetalinkText.sha1, MetalinkText.sha1])
        let hash = "<hash type=\"sha-256\">x</hash>"
        let metalink = try Metalink(text: MetalinkText.four("<size>16</size>\(hash)\(pieces)\(MetalinkText.url)"))
        #expect(metalink.files.first?.pieces?.digests.count == 2)
        #expect(metalink.remarks.count == 1)
        // Without a size the number of pieces cannot be checked.
        #expect(refusal(MetalinkText.four(hash + pieces + MetalinkText.url))?.contains("digest that is none") == true)
    }

    @Test func keepsOneSetOfPiecesBesideAnotherThatIsNone() throws {
        let sets =
            MetalinkText.pieces("8", [MetalinkText.sha1, MetalinkText.sha1])
            + MetalinkText.pieces("8", [MetalinkText.sha256, "x"], type: "sha-256")
        let metalink = try Metalink(text: MetalinkText.four("<size>16</size>\(sets)\(MetalinkText.url)"))
        #expect(metalink.files.first?.pieces?.algorithm == .sha1)
    }

    @Test(arguments: [
        MetalinkText.pieces("4", [MetalinkText.sha256], type: "sha-256"), MetalinkText.pieces("8", [], type: "sha-256"),
        MetalinkText.pieces("4", [MetalinkText.sha1]), MetalinkText.pieces("x", [MetalinkText.sha1]),
        MetalinkText.pieces("8", [MetalinkText.sha256, MetalinkText.sha1], type: "sha-256"),
    ])
    func keepsOneSetOfPiecesBesideAnotherThatDoesNotMakeUpTheFile(_ bad: String) throws {
        let good = MetalinkText.pieces("8", [MetalinkText.sha1, MetalinkText.sha1])
        for sets in [bad + good, good + bad] {
            for size in ["<size>16</size>" + sets, sets + "<size>16</size>"] {
                let metalink = try Metalink(text: MetalinkText.four(size + MetalinkText.url))
                #expect(metalink.files.first?.pieces?.algorithm == .sha1)
                #expect(metalink.files.first?.pieces?.digests.count == 2)
            }
        }
    }

    @Test func keepsOneSetOfPiecesBesideOneThatIsNoneWithoutASize() throws {
        let good = MetalinkText.pieces("8", [MetalinkText.sha1, MetalinkText.sha1])
        let bad = MetalinkText.pieces("0", [MetalinkText.sha1])
        for sets in [bad + good, good + bad] {
            let metalink = try Metalink(text: MetalinkText.four(sets + MetalinkText.url))
            #expect(metalink.files.first?.pieces?.digests.count == 2)
            #expect(metalink.remarks.count == 1)
        }
    }

    @Test func takesTheStrongestOfTheSetsOfPiecesThatMakeUpTheFile() throws {
        let sets = ["sha-1": MetalinkText.sha1, "sha-512": MetalinkText.sha512, "sha-256": MetalinkText.sha256]
            .map { MetalinkText.pieces("8", [$1, $1], type: $0) }.joined()
        let metalink = try Metalink(text: MetalinkText.four("<size>16</size>\(sets)\(MetalinkText.url)"))
        #expect(metalink.files.first?.pieces?.algorithm == .sha512)
        #expect(metalink.remarks.isEmpty)
    }

    @Test(arguments: ["gitsha1", "git-sha1"])
    func takesTheDigestOfGitForNoneOfAMetalink(_ type: String) throws {
        let pieces = MetalinkText.pieces("8", [MetalinkText.sha1, MetalinkText.sha1], type: type)
        let hash = "<hash type=\"\(type)\">\(MetalinkText.sha1)</hash>"
        let file = try Metalink(text: MetalinkText.four("<size>16</size>\(hash)\(pieces)\(MetalinkText.url)")).files
            .first
        #expect(file != nil && file?.checksum == nil && file?.pieces == nil)
    }

    @Test func saysNothingOfADocumentInWhichAllIsRight() throws {
        let metalink = try Metalink(text: MetalinkText.four("<hash type=\"crc32\">x</hash>" + MetalinkText.url))
        #expect(metalink.remarks.isEmpty)
    }

    @Test func saysNoMoreThanTwentyThings() throws {
        let bad = (0..<500).map { "<file name=\"\($0)\"><url>ftp://h/a</url></file>" }.joined()
        #expect(try Metalink(text: MetalinkText.four(files: bad + good)).remarks.count == 20)
    }
}
