import Foundation
import Testing

@testable import HaulCore

/// Replays traces that `haul get --trace` recorded with the fault server (`TraceCommandTests`). The machine must make
/// the recorded decisions. A deliberate change of decisions needs a new recording.
@Suite struct TraceReplayTests {
    private static let folder = Checkout.root.appendingPathComponent("Tests/Traces").path

    @Test(arguments: ["several-connections", "interrupted", "resumed", "changed"])
    func theMachineReturnsTheRecordedActions(_ name: String) throws {
        let result = try TraceReplay.run(contentsOf: "\(Self.folder)/\(name).trace")
        #expect(result.difference == nil)
        #expect(result.steps > 4)
    }

    /// `HAUL_TRACE=FILE make test FILTER=TraceReplayTests` replays the trace of a bug report.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["HAUL_TRACE"] != nil))
    func theMachineReturnsTheActionsOfTheNamedTrace() throws {
        let path = try #require(ProcessInfo.processInfo.environment["HAUL_TRACE"])
        let result = try TraceReplay.run(contentsOf: path)
        #expect(result.difference == nil)
        print("\(path): \(result.steps) steps")
    }

    @Test func namesTheFirstStepThatDiffers() throws {
        var lines = try TraceReader.lines(
            Data(contentsOf: URL(fileURLWithPath: Self.folder + "/resumed.trace"))
        )
        let index = try #require(lines.firstIndex { $0.step?.actions.isEmpty == false })
        lines[index].step?.actions = []
        #expect(TraceReplay.run(lines).difference?.hasPrefix("line \(index + 2):") == true)
    }
}
