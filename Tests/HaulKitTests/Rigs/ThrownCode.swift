import HaulKit
import Testing

/// Calls a function that has to fail, and returns the code of its error.
func thrownCode(
    _ call: () async throws -> Void,
    sourceLocation: SourceLocation = #_sourceLocation
) async -> DownloadError.Code? {
    await #expect(throws: DownloadError.self, sourceLocation: sourceLocation) { try await call() }?.code
}
