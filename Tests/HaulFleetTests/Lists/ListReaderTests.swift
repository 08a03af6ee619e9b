import Foundation
import Testing

@testable import HaulFleet

@Suite struct ListReaderTests {
    /// Parses `bytes` in pieces of `piece` bytes and returns the items.
    private static func items(
        _ bytes: [UInt8],
        _ format: ListFormat,
        piece: Int,
        invalid: InvalidLines? = nil,
        limit: Int = ListReader.longestRecord
    ) throws(FleetError) -> [NewItem] {
        var parser = ListParser(format: format, name: "list", invalidLines: invalid, limit: limit)
        var items: [NewItem] = []
        var rest = bytes[...]
        while true {
            while let item = try parser.next() { items.append(item) }
            guard !parser.isComplete else { return items }
            if rest.isEmpty {
                parser.finish()
            } else {
                parser.append(Array(rest.prefix(piece)))
                rest = rest.dropFirst(piece)
            }
        }
    }

    private static func items(_ text: String, _ format: ListFormat) throws(FleetError) -> [NewItem] {
        let whole = try items(Array(text.utf8), format, piece: .max / 2)
        for piece in [1, 2, 3, 7] {
            let again = try items(Array(text.utf8), format, piece: piece)
            #expect(again == whole, "pieces of \(piece)")
        }
        return whole
    }

    private static func message(_ text: String, _ format: ListFormat) -> String? {
        do throws(FleetError) {
            _ = try items(text, format)
            return nil
        } catch {
            #expect(error.code == .invalidInput)
            return error.message
        }
    }

    @Test func textHasAURLALine() throws {
        let items = try Self.items("\u{FEFF}http://h/a\r\n\n  # a comment\nHTTPS://h/b?c  ", .text)
        #expect(items == [NewItem(url: "http://h/a"), NewItem(url: "HTTPS://h/b?c")])
    }

    @Test func csvHasQuotesLineEndsAndOtherColumns() throws {
        let list =
            "url,Path,key,size,priority,checksum,who,\"no\"\"te\"\r\n"
            + "http://h/a,d/a,k1,12,-3,\(String(repeating: "AB", count: 32)),me,\"x, \"\"y\"\"\nz\"\r\n"
            + "http://h/b,,,,,,,"
        let items = try Self.items(list, .csv)
        #expect(items.count == 2)
        #expect(items.first?.path == "d/a" && items.first?.key == "k1" && items.first?.size == 12)
        #expect(items.first?.priority == -3)
        #expect(items.first?.checksum == "sha256:" + String(repeating: "ab", count: 32))
        #expect(items.first?.metadata == #"{"who":"me","no\"te":"x, \"y\"\nz"}"#)
        #expect(items.last == NewItem(url: "http://h/b"))
    }

    @Test func tsvHasNoQuotes() throws {
        let items = try Self.items("metadata\turl\n\"a\thttp://h/a\n", .tsv)
        #expect(items == [NewItem(url: "http://h/a", metadata: "\"a")])
    }

    @Test func mirrorsAreAnArrayOrSeparatedByBlanks() throws {
        let item = NewItem(url: "http://h/a", mirrors: ["http://i/a", "https://j/b,c"])
        let lines = [
            #"{"mirrors": [ "http://i/a" , "https://j/b,c"], "url":"http://h/a"}"#,
            #"{"url":"http://h/a","mirrors":"http://i/a  https://j/b,c "}"#,
        ]
        #expect(try Self.items(lines.joined(separator: "\n"), .jsonLines) == [item, item])
        #expect(try Self.items("url,mirrors\nhttp://h/a,\"http://i/a https://j/b,c\"\n", .csv) == [item])
        let none = #"{"url":"http://h/a","mirrors":[]}"# + "\n" + #"{"url":"http://h/a","mirrors":null}"#
        #expect(try Self.items(none, .jsonLines).allSatisfy { $0 == NewItem(url: "http://h/a") })
    }

    @Test(arguments: ["\"1a\"", "W/\"1a\"", "Sat, 07 Nov 2026 10:00:00 GMT"])
    func aValidatorIsAnEntityTagOrADate(_ validator: String) throws {
        let item = NewItem(url: "http://h/a", validator: validator)
        let quoted = validator.replacing("\"", with: "\\\"")
        #expect(try Self.items(#"{"url":"http://h/a","validator":"\#(quoted)"}"#, .jsonLines) == [item])
        let doubled = validator.replacing("\"", with: "\"\"")
        #expect(try Self.items("url,validator\nhttp://h/a,\"\(doubled)\"\n", .csv) == [item])
    }

    @Test func jsonLinesKeepWhatTheyDoNotKnow() throws {
        let items = try Self.items(
            #" {"url":"http:\/\/h\/\u00fc","size":5,"metadata":{"a":[1,2.5e3,null]},"key":null} "# + "\n"
                + #"{"url":"http://h/b","metadata":"m","tag":"\n","deep":{"x":[]}}"#,
            .jsonLines
        )
        #expect(items.first == NewItem(url: "http://h/ü", size: 5, metadata: #"{"a":[1,2.5e3,null]}"#))
        #expect(items.last?.metadata == #"{"tag":"\n","deep":{"x":[]},"metadata":"m"}"#)
    }

    @Test(arguments: [
        ("path\nx", ListFormat.csv, "list, line 1 must name the columns, and names none \"url\"."),
        ("url\nhttp://h/a\nhttp://h/b,c", .csv, "list, line 3 has 2 columns where the first line names 1."),
        ("url,url\n", .csv, "list, line 1 names column 2 like one before it."),
        ("url\n\"http://h/a", .csv, "list, line 2 opens a quote that is not closed within 1048576 bytes."),
        ("url\n\"a\"b", .csv, "list, line 2 has text behind a closing quote (column 1)."),
        ("url\na\"b", .csv, "list, line 2 has a quote inside a field that is not quoted (column 1)."),
        ("ftp://h/a", .text, "list, line 1 has a URL that does not begin with http://, https:// or s3://."),
        ("http://", .text, "list, line 1 has a URL that cannot be read."),
        ("http://h/a b", .text, "list, line 1 has a URL that cannot be read."),
        ("http://h/a\u{0}", .text, "list, line 1 has a NUL character."),
        ("{\"url\":\"http://h\",\"size\":1.5}", .jsonLines, "list, line 1 has a size that is no whole number."),
        ("{\"url\":\"http://h\",\"size\":-1}", .jsonLines, "list, line 1 has a size below zero."),
        ("{\"url\":7}", .jsonLines, "list, line 1 has a url that is no string."),
        ("{\"url\":\"http://h\"", .jsonLines, "list, line 1 is not a JSON object (column 18)."),
        ("{\"url\":\"\\ud800\"}", .jsonLines, "list, line 1 has an escape that is none of JSON."),
        ("{\"url\":\"http://h\",\"url\":\"http://i\"}", .jsonLines, "list, line 1 has \"url\" twice."),
        (
            "{\"a\":" + String(repeating: "[", count: 100_000), .jsonLines,
            "list, line 1 is nested deeper than 64 levels."
        ),
        (
            "{\"url\":\"http://h\",\"priority\":40000}", .jsonLines,
            "list, line 1 has a priority that is not between -32768 and 32767."
        ),
        (
            "url,checksum\nhttp://h/a,md5:12", .csv,
            "list, line 2 has a checksum that is not ALGORITHM:DIGEST, such as sha256: and 64 hexadecimal digits."
        ),
        (
            "url,mirrors\nhttp://h/a,http://i/a s3://data/a", .csv,
            "list, line 2 has a mirror that is no http or https URL."
        ),
        ("{\"url\":\"http://h\",\"mirrors\":7}", .jsonLines, "list, line 1 has mirrors that are no array of strings."),
        (
            "{\"url\":\"http://h\",\"mirrors\":[\"http://i\",7]}", .jsonLines,
            "list, line 1 has mirrors that are no array of strings."
        ),
        (
            "{\"url\":\"http://h\",\"mirrors\":\"" + String(repeating: "http://i/a ", count: 65) + "\"}", .jsonLines,
            "list, line 1 has more than 64 mirrors."
        ),
        (
            #"{"url":"http://h","validator":"1a"}"#, .jsonLines,
            "list, line 1 has a validator that is neither an entity tag, such as \"1a2b\" in quotes, nor a date of HTTP."
        ),
        (
            #"{"url":"http://h","validator":"\"1a\"\r\nX: y"}"#, .jsonLines,
            "list, line 1 has a validator that is neither an entity tag, such as \"1a2b\" in quotes, nor a date of HTTP."
        ),
    ])
    func aLineThatIsNoItemIsNamed(_ list: String, _ format: ListFormat, _ message: String) {
        #expect(Self.message(list, format) == message)
    }

    @Test func bytesThatAreNoTextAreRefused() throws {
        for format in [ListFormat.text, .jsonLines] {
            let invalid = InvalidLines()
            let bytes = Array("{\"url\":\"http://h/".utf8) + [0xFF, 0x22, 0x7D, 0x0A, 0x68, 0xC3, 0x0A]
            #expect(try Self.items(bytes, format, piece: 4, invalid: invalid).isEmpty)
            #expect(invalid.count == 2)
        }
        #expect(throws: FleetError.self) { try Self.items([0xFF, 0xFE, 0x68, 0x00], .text, piece: 100) }
    }

    @Test func invalidLinesAreCountedAndSkipped() throws {
        let invalid = InvalidLines()
        let list = "url\n" + String(repeating: "x\n", count: 25) + "http://h/a\n\"http://h/b\nhttp://h/c\n"
        let items = try Self.items(Array(list.utf8), .csv, piece: 10, invalid: invalid)
        #expect(items == [NewItem(url: "http://h/a"), NewItem(url: "http://h/c")])
        #expect(invalid.count == 26 && invalid.first.count == InvalidLines.shown)
        #expect(invalid.first.first == "list, line 2 has a URL that does not begin with http://, https:// or s3://.")
    }

    @Test func aLineThatIsTooLongIsNotKept() throws {
        let line = [UInt8](repeating: UInt8(ascii: "x"), count: 100_000_000)
        for format in ListFormat.allCases {
            let invalid = InvalidLines()
            var parser = ListParser(format: format, name: "list", invalidLines: invalid)
            parser.append(Array("url\n".utf8).filter { _ in format == .csv || format == .tsv })
            #expect(try parser.next() == nil)
            var rest = line[...]
            while !rest.isEmpty {
                parser.append(Array(rest.prefix(1 << 18)))
                rest = rest.dropFirst(1 << 18)
                #expect(try parser.next() == nil)
            }
            parser.append(Array("\n{\"url\":\"http://h/a\"}\nhttp://h/a\n".utf8))
            parser.finish()
            var items = 0
            while try parser.next() != nil { items += 1 }
            #expect(items == 1, "\(format)")
            #expect(invalid.first.first?.hasSuffix("is longer than 1048576 bytes.") == true)
        }
    }

    @Test func aMillionColumnsAreRefused() {
        let line = String(repeating: ",", count: 1_000_000)
        #expect(Self.message("url" + line, .csv) == "list, line 1 has more than 1000 columns.")
        #expect(Self.message("url\n" + line, .csv) == "list, line 2 has more than 1000 columns.")
    }

    @Test func anyBytesAreReadWithoutATrap() throws {
        var random = SystemRandomNumberGenerator()
        let alphabet = Array("\"\\,\t\n\r{}[]:http://h/aurl0-.eE#%?u".utf8) + [0, 0xC3, 0xBC, 0xFF, 0xEF, 0xBB, 0xBF]
        for _ in 0..<4000 {
            let bytes = (0..<Int.random(in: 0...120)).map { _ in
                alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
            }
            for format in ListFormat.allCases {
                let prefix = format == .csv ? Array("url,x\n".utf8) : format == .tsv ? Array("url\tx\n".utf8) : []
                for limit in [16, 1 << 20] {
                    let whole = InvalidLines()
                    let pieces = InvalidLines()
                    let one = try Self.items(prefix + bytes, format, piece: 1000, invalid: whole, limit: limit)
                    let other = try Self.items(prefix + bytes, format, piece: 3, invalid: pieces, limit: limit)
                    #expect(one == other && whole.first == pieces.first, "\(format) \(bytes)")
                }
            }
        }
    }

    @Test func aListIsReadFromAPipe() async throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        let writer = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        let count = 50_000
        // The writer blocks until the reader reads, so it must not occupy a thread of the cooperative pool.
        Thread.detachNewThread {
            for number in 0..<count { writer.write(Data("http://h/\(number)\n".utf8)) }
            writer.closeFile()
        }
        var read = 0
        for try await item in ListReader(descriptor: ends[0], format: .text, name: "standard input") {
            #expect(item.url == "http://h/\(read)")
            read += 1
        }
        close(ends[0])
        #expect(read == count)
    }

    @Test func aCancelledReadOfASilentPipeEnds() async {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        let descriptor = ends[0]
        let task = Task {
            do {
                for try await _ in ListReader(descriptor: descriptor, format: .text, name: "standard input") {}
                return FleetError?.none
            } catch { return error as? FleetError }
        }
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        close(ends[0])
        close(ends[1])
    }

    /// Prints how many lines are read per second. `HAUL_LIST_LINES=n` sets the number of lines. Only an optimised build
    /// gives useful figures.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["HAUL_LIST_LINES"] != nil))
    func linesASecond() async throws {
        let count = ProcessInfo.processInfo.environment["HAUL_LIST_LINES"].flatMap { Int($0) } ?? 0
        let folder = NSTemporaryDirectory()
        for format in ListFormat.allCases {
            let path = folder + "/haul-lines-\(UUID().uuidString)"
            defer { unlink(path) }
            try Self.write(count, format, path)
            let descriptor = open(path, O_RDONLY)
            defer { close(descriptor) }
            let clock = ContinuousClock()
            let start = clock.now
            var bytes = 0
            for try await item in ListReader(descriptor: descriptor, format: format, name: "list") {
                bytes += item.resolvedPath.utf8.count
            }
            let seconds = (clock.now - start) / .seconds(1)
            print("\(format): \(Int(Double(count) / seconds)) lines/s, paths of \(bytes) bytes")
        }
    }

    private static func write(_ count: Int, _ format: ListFormat, _ path: String) throws {
        try #require(FileManager.default.createFile(atPath: path, contents: nil))
        let file = try #require(FileHandle(forWritingAtPath: path))
        let digest = String(repeating: "0f", count: 32)
        if format == .csv { file.write(Data("url,path,checksum,size,label\n".utf8)) }
        if format == .tsv { file.write(Data("url\tpath\tchecksum\tsize\tlabel\n".utf8)) }
        for start in stride(from: 0, to: count, by: 10_000) {
            let lines = (start..<min(count, start + 10_000)).map { number in
                let url = "https://files.example.org/2026/set-\(number % 100)/image-\(number).jpg"
                return switch format {
                case .text: "\(url)\n"
                case .csv: "\(url),d/\(number).jpg,sha256:\(digest),\(number),\"a, \(number)\"\n"
                case .tsv: "\(url)\td/\(number).jpg\tsha256:\(digest)\t\(number)\ta \(number)\n"
                case .jsonLines:
                    "{\"url\":\"\(url)\",\"checksum\":\"sha256:\(digest)\",\"size\":\(number),\"metadata\":{\"n\":\(number)}}\n"
                }
            }
            file.write(Data(lines.joined().utf8))
        }
        file.closeFile()
    }
}
