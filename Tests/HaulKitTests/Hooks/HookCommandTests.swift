import Foundation
import Testing

@testable import HaulCore
@testable import HaulKit

/// Running programs for hooks.
@Suite(.timeLimit(.minutes(60)))
struct HookCommandTests {
    @Test func passesEveryWordAsItStands() async throws {
        let script = try HookScript(#"for word; do echo "<$word>"; done > "$(dirname "$0")/out""#)
        let words = ["$(touch here)", "a b", "; exit 1", "*", "", "-n", "\"'"]
        await script.command(words).run(try .sample(.completed) { $0.path = "/data/-odd name" })
        #expect(script.text("out") == (words + ["/data/-odd name"]).map { "<\($0)>\n" }.joined())
        #expect(!FileManager.default.fileExists(atPath: "here"))
    }

    @Test func tellsTheProgramWhatHappened() async throws {
        let script = try HookScript(#"echo "$HAUL_EVENT $HAUL_KEY $HAUL_URL" > "$(dirname "$0")/out""#)
        await script.command().run(try .sample(.started) { $0.key = "lesson" })
        #expect(script.text("out") == "started lesson https://***@files.example/a.iso?***\n")
    }

    @Test func givesTheProgramNothingButEmptyStreamsAndPlainSignals() async throws {
        let script = try HookScript(
            """
            out=$(dirname "$0")/out
            read line && exit 1
            links=$(readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2)
            echo "$links" > $out
            ls /proc/self/fd | tr '\\n' ' ' >> $out
            # The C library keeps 32 and 33 for itself.
            grep -E '^Sig(Blk|Ign)' /proc/self/status | sed s/000000018/000000000/ >> $out
            """
        )
        // Opens a descriptor without `FD_CLOEXEC`, as other parts of a process may have.
        let descriptor = dup(STDERR_FILENO)
        defer { close(descriptor) }
        await script.command().run(try .sample(.started))
        let lines = try #require(script.text("out")).split(separator: "\n")
        #expect(lines.prefix(3) == ["/dev/null", "/dev/null", "/dev/null"])
        // The fourth descriptor is the folder that is being listed.
        #expect(
            lines.dropFirst(3) == ["0 1 2 3 SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000"]
        )
    }

    @Test(arguments: ["exit 3", "kill -9 $$", "exit 0"])
    func bearsWhateverEndAndLeavesNoProcess(_ end: String) async throws {
        let script = try HookScript("echo $$ > \"$(dirname \"$0\")/pid\"; \(end)\n")
        await script.command().run(try .sample(.started))
        let process = try await script.line("pid")
        #expect(!FileManager.default.fileExists(atPath: "/proc/\(process)"))
    }

    @Test func bearsAProgramThatCannotBeRun() async throws {
        let script = try HookScript("echo > \"$(dirname \"$0\")/out\"", firstLine: "")
        // The script names no interpreter, and `HookCommand` assumes none.
        await script.command().run(try .sample(.started))
        #expect(script.text("out") == nil)
        try FileManager.default.removeItem(atPath: script.path)
        await script.command().run(try .sample(.started))
    }

    @Test func runsAProgramOnceItIsNotOpenForWritingAnyMore() async throws {
        let script = try HookScript("echo run > \"$(dirname \"$0\")/out\"\n")
        let writer = try #require(FileHandle(forUpdatingAtPath: script.path))
        await script.command(time: EngineClock(ClosingClock(writer: writer))).run(try .sample(.started))
        #expect(script.text("out") == "run\n")
    }

    @Test(arguments: ["", "trap '' TERM;"])
    func endsAProgramThatTakesTooLongAndWhatItStarted(_ trap: String) async throws {
        let script = try HookScript(
            "\(trap) sleep 1000 & echo $$ $! > \"$(dirname \"$0\")/pids\"; while true; do wait; sleep 1; done\n"
        )
        let clock = GatedClock()
        let message = try HookMessage.sample(.started)
        let run = Task { await script.command(time: EngineClock(clock)).run(message) }
        let processes = try await script.line("pids").split(separator: " ").map(String.init)
        #expect(processes.count == 2 && processes.allSatisfy(isRunning))
        clock.passTheTime()
        await run.value
        // The program's child process ends a moment after the program.
        while processes.contains(where: isRunning) { try await Task.sleep(for: .milliseconds(5)) }
    }

    @Test func endsAProgramThatNobodyWaitsForAnyMore() async throws {
        let script = try HookScript("echo $$ > \"$(dirname \"$0\")/pid\"; exec sleep 1000\n")
        let message = try HookMessage.sample(.started)
        let run = Task { await script.command().run(message) }
        let process = try await script.line("pid")
        run.cancel()
        await run.value
        #expect(!isRunning(process: process))
    }

    @Test func letsAProgramLeaveOthersBehind() async throws {
        let script = try HookScript("sleep 1000 & echo $! > \"$(dirname \"$0\")/pid\"\n")
        await script.command().run(try .sample(.started))
        let process = try await script.line("pid")
        #expect(isRunning(process: process))
        kill(try #require(Int32(process)), SIGKILL)
    }
}
