import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Paths with as many folders as a path may have.
struct DeepFolderTests {
    @Test func makesThemOnAThreadWithASmallStack() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + String(repeating: "/d", count: 1900)
        let result: Result<Void, DiskError> = await withCheckedContinuation { continuation in
            let thread = Thread {
                do throws(DiskError) {
                    try PosixDisk().createFolder(path)
                    continuation.resume(returning: .success(()))
                } catch { continuation.resume(returning: .failure(error)) }
            }
            thread.stackSize = 128 << 10
            thread.start()
        }
        #expect(throws: Never.self) { try result.get() }
        #expect(try PosixDisk().status(path)?.kind == .folder)
        // Foundation removes folders recursively.
        try SystemCommand.run("rm", "-rf", folder.path + "/d")
    }
}
