import Foundation
import Testing

/// Checks that every code block of `HaulKit.docc` is compiled, and that every linked symbol and article exists.
@Suite struct DocumentationTests {
    private static let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    private static let library = here.appendingPathComponent("../../../Sources/HaulKit").standardizedFileURL
    private static let values = here.appendingPathComponent("../../../Sources/HaulCore").standardizedFileURL
    private static let declarations = Result { try PublicDeclarations(in: [values, library]) }

    private let articles: [Article]
    private let snippets: [Snippet]

    init() throws {
        articles = try Article.all(in: Self.library.appendingPathComponent("HaulKit.docc"))
        snippets = try ["DocumentationSnippets", "DocumentationSnippets+Operation", "DocumentationSnippets+Sets"]
            .flatMap { try Snippet.all(in: Self.here.appendingPathComponent($0 + ".swift")) }
    }

    @Test func compilesEveryBlockOfEveryArticle() {
        #expect(articles.count >= 6)
        #expect(snippets.count >= 12)
        for article in articles {
            let compiled = snippets.filter { $0.article == article.name }
            #expect(article.blocks == compiled.map(\.text), "\(article.name)")
            #expect(compiled.map(\.number) == Array(compiled.indices.map { $0 + 1 }), "\(article.name)")
            #expect(article.otherFences.isEmpty, "\(article.name): a block that nothing compiles")
        }
    }

    @Test func hasAnArticleForEverySnippet() {
        #expect(Set(snippets.map(\.article)).subtracting(articles.map(\.name)).isEmpty)
    }

    @Test func linksOnlyToWhatIsPublic() throws {
        let declarations = try Self.declarations.get()
        let links = articles.flatMap(\.symbolLinks)
        #expect(links.count >= 60)
        let dead = Set(links).subtracting(["HaulKit"]).filter { !declarations.contain($0) }
        #expect(dead.isEmpty)
    }

    @Test func linksOnlyToArticlesThatAreThere() {
        let links = articles.flatMap(\.articleLinks)
        #expect(links.count >= 5)
        #expect(Set(links).subtracting(articles.map(\.name)).isEmpty)
    }

    @Test(arguments: ["Downloader/fly(_:)", "Upload", "DownloadError/Code/tooSlow", "Download/hub", "DownloadMachine"])
    func findsNoDeclarationOfWhatIsNotPublic(_ link: String) throws {
        let isPublic = try Self.declarations.get().contain(link)
        #expect(!isPublic)
    }
}

// MARK: Articles

/// One article of the catalogue.
private struct Article {
    let name: String
    /// The Swift blocks in order, without the fences.
    private(set) var blocks: [String] = []
    /// Fences of blocks that are not marked as Swift.
    private(set) var otherFences: [String] = []
    private var prose = ""

    static func all(in folder: URL) throws -> [Article] {
        try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "md" }
            .sorted { $0.path < $1.path }
            .map(Article.init)
    }

    private init(_ file: URL) throws {
        name = file.deletingPathExtension().lastPathComponent
        var block: [Substring]?
        for line in try lines(of: file) {
            if let text = block {
                let isEnd = line == "```"
                if isEnd { blocks.append(text.joined(separator: "\n")) }
                block = isEnd ? nil : text + [line]
            } else if line == "```swift" {
                block = []
            } else {
                if line.contains("```") { otherFences.append(String(line)) }
                prose += line + "\n"
            }
        }
        // An unclosed block would not be compared with a snippet, so it is reported.
        if block != nil { otherFences.append("```swift") }
    }

    /// The symbols between double backticks.
    var symbolLinks: [String] { prose.matches(of: /``([^`\s]+)``/).map { String($0.output.1) } }

    var articleLinks: [String] { prose.matches(of: /<doc:([^>]+)>/).map { String($0.output.1) } }
}

// MARK: Snippets

/// The lines between two markers of `DocumentationSnippets.swift` or of a file `DocumentationSnippets+….swift`.
private struct Snippet {
    let article: String
    let number: Int
    /// The lines without their common indentation.
    let text: String

    static func all(in file: URL) throws -> [Snippet] {
        var snippets: [Snippet] = []
        var open: (name: Substring, lines: [Substring])?
        for line in try lines(of: file) {
            let marker = line.drop { $0 == " " }
            if marker.hasPrefix("// snippet: ") {
                try #require(open == nil, "\(line) before the end of another one")
                open = (marker.dropFirst("// snippet: ".count), [])
            } else if marker == "// end" {
                let ended = try #require(open, "an end without a beginning")
                snippets.append(try Snippet(ended.name, ended.lines))
                open = nil
            } else {
                open?.lines.append(line)
            }
        }
        try #require(open == nil, "the last one has no end")
        return snippets
    }

    private init(_ name: Substring, _ lines: [Substring]) throws {
        let parts = name.split(separator: "-")
        try #require(parts.count == 2, "\(name)")
        article = String(parts[0])
        number = try #require(Int(parts[1]), "\(name)")
        let indentation = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
        text = lines.map { $0.dropFirst(indentation) }.joined(separator: "\n")
    }
}

private func lines(of file: URL) throws -> [Substring] {
    try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
}

// MARK: Declarations

/// The public declarations of the library, found by reading its sources as text.
private struct PublicDeclarations {
    fileprivate struct File {
        /// All types declared or extended in the file, public or not.
        var types: Set<String> = []
        /// The public names declared in the file, and the cases of its enumerations.
        var names: Set<String> = []
    }
    private var files: [File] = []
    private var names: Set<String> = []

    fileprivate static let typeKeywords: Set = [
        "struct", "enum", "class", "actor", "protocol", "extension", "typealias",
    ]
    fileprivate static let memberKeywords: Set = ["var", "let", "func"]

    init(in folders: [URL]) throws {
        for folder in folders {
            let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            for path in paths where path.hasSuffix(".swift") {
                let file = try File(lines(of: folder.appendingPathComponent(path)))
                files.append(file)
                names.formUnion(file.names)
            }
        }
    }

    /// Returns whether the symbol of `link` is declared.
    ///
    /// - Parameter link: `Type`, `Type/member` or longer, each part in the notation of DocC.
    func contain(_ link: String) -> Bool {
        let parts = link.split(separator: "/").map { String($0.prefix { $0 != "(" && $0 != "-" }) }
        guard let first = parts.first, names.contains(first) else { return false }
        return zip(parts, parts.dropFirst()).allSatisfy { type, member in
            files.contains { $0.types.contains(type) && $0.names.contains(member) }
        }
    }
}

extension PublicDeclarations.File {
    init(_ lines: [Substring]) {
        for line in lines {
            let code = line.drop { $0 == " " }
            if code.hasPrefix("//") { continue }
            let words = code.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init)
            if code.hasPrefix("case ") { names.formUnion(Self.cases(code.dropFirst("case ".count))) }
            guard let keyword = words.firstIndex(where: Self.isKeyword) else { continue }
            let isPublic = words[0] == "public"
            if isPublic, words[keyword] == "init" { names.insert("init") }
            guard keyword + 1 < words.count else { continue }
            if PublicDeclarations.typeKeywords.contains(words[keyword]) {
                // `extension Outer.Inner` counts for both names.
                types.formUnion(words[(keyword + 1)...].prefix { $0.first?.isUppercase == true })
            }
            if isPublic { names.insert(words[keyword + 1]) }
        }
    }

    /// Returns the names in `first, second(label: Type), third = 3`; none for a `case` of a `switch`.
    private static func cases(_ code: Substring) -> [String] {
        var depth = 0
        let bare = code.prefix { $0 != "=" }.filter { character in
            if character == "(" { depth += 1 }
            defer { if character == ")" { depth -= 1 } }
            return depth == 0
        }
        let names = bare.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        return names.allSatisfy { $0.allSatisfy { $0.isLetter || $0.isNumber } } ? names : []
    }

    private static func isKeyword(_ word: String) -> Bool {
        word == "init" || PublicDeclarations.typeKeywords.contains(word)
            || PublicDeclarations.memberKeywords.contains(word)
    }
}
