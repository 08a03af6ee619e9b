#if HAUL_LIBFUZZER
    import Foundation

    // libFuzzer over all parsers, whose runtime brings the main function: the first byte of an input says which parser.
    // `Scripts/fuzz --coverage` builds and runs it.

    /// Writes the first inputs where that is asked for.
    @_cdecl("LLVMFuzzerInitialize")
    public func initialize(_ count: UnsafeMutableRawPointer?, _ arguments: UnsafeMutableRawPointer?) -> CInt {
        guard let folder = ProcessInfo.processInfo.environment["HAUL_FUZZ_CORPUS"] else { return 0 }
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            for (number, target) in FuzzTarget.all.enumerated() {
                for (index, text) in target.seeds.enumerated() {
                    let latin = text.unicodeScalars.compactMap { UInt8(exactly: $0.value) }
                    let bytes = latin.count == text.unicodeScalars.count ? latin : Array(text.utf8)
                    try Data([UInt8(number)] + bytes).write(to: URL(fileURLWithPath: "\(folder)/\(number)-\(index)"))
                }
            }
        } catch {
            print("no inputs can be written to \(folder): \(error)")
            exit(1)
        }
        exit(0)
    }

    @_cdecl("LLVMFuzzerTestOneInput")
    public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        let bytes = UnsafeBufferPointer(start: start, count: count)
        guard let first = bytes.first else { return 0 }
        let target = FuzzTarget.all[Int(first) % FuzzTarget.all.count]
        // The fuzzer keeps the input of a process that ends like this, which is what is wanted.
        if let wrong = target.check(Array(bytes.dropFirst())) { fatalError("\(target.name): \(wrong)") }
        return 0
    }
#endif
