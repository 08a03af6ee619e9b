#if HAUL_LIBFUZZER
    import Foundation

    // Runs libFuzzer on one parser. The runtime of libFuzzer has the `main` function. HAUL_FUZZ_PARSER is the number of
    // the parser. `Scripts/fuzz --coverage` builds and runs the program.

    private let chosen: FuzzTarget? = {
        let number = ProcessInfo.processInfo.environment["HAUL_FUZZ_PARSER"].flatMap { Int($0) }
        return number.flatMap { FuzzTarget.all.indices.contains($0) ? FuzzTarget.all[$0] : nil }
    }()

    /// If no parser is chosen, prints the names of all, and writes their seeds into the folder HAUL_FUZZ_CORPUS if it
    /// is set.
    @_cdecl("LLVMFuzzerInitialize")
    public func initialize(_ count: UnsafeMutableRawPointer?, _ arguments: UnsafeMutableRawPointer?) -> CInt {
        if chosen != nil { return 0 }
        do {
            for (number, target) in FuzzTarget.all.enumerated() {
                print(target.name)
                guard let root = ProcessInfo.processInfo.environment["HAUL_FUZZ_CORPUS"] else { continue }
                let folder = URL(fileURLWithPath: "\(root)/\(number)")
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                for (index, text) in target.seeds.enumerated() {
                    let latin = text.unicodeScalars.compactMap { UInt8(exactly: $0.value) }
                    let bytes = latin.count == text.unicodeScalars.count ? latin : Array(text.utf8)
                    try Data(bytes).write(to: folder.appendingPathComponent("seed-\(index)"))
                }
            }
            if let root = ProcessInfo.processInfo.environment["HAUL_FUZZ_CORPUS"] {
                let words = Mutator.tokens.map { token in
                    "\"" + token.map { "\\x" + (($0 < 16 ? "0" : "") + String($0, radix: 16)) }.joined() + "\"\n"
                }
                try Data(words.joined().utf8).write(to: URL(fileURLWithPath: "\(root)/words"))
            }
        } catch {
            print("no inputs can be written: \(error)")
            exit(1)
        }
        exit(0)
    }

    @_cdecl("LLVMFuzzerTestOneInput")
    public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        guard let target = chosen else { return 0 }
        let bytes = UnsafeBufferPointer(start: start, count: count)
        // libFuzzer keeps the input that ends the process.
        if let wrong = target.check(Array(bytes)) { fatalError("\(target.name): \(wrong)") }
        return 0
    }
#endif
