import Foundation
import HaulTesting
import NIOCore
import Testing

@testable import HaulCore
@testable import HaulKit

/// Films that a program puts together.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct StreamProgramTests {
    private let film = TestStream(8)

    /// Runs a test with a downloader that finds a script in place of ffmpeg. Its last argument is the film.
    private func scripted(
        _ lines: String,
        patience: Duration = .seconds(3600),
        on site: StreamSite? = nil,
        _ test: (DownloaderRig, Downloader) async throws -> Void
    ) async throws {
        let script = try HookScript("for target; do :; done\n" + lines)
        try await (site ?? StreamSite(film)).run { rig in
            let program = script.path
            try await rig.opened(FFmpeg.Terms(find: { program }, patience: patience)) { downloader in
                try await test(rig, downloader)
            }
        }
        withExtendedLifetime(script) {}
    }

    private func request(_ rig: DownloaderRig, _ target: String = StreamSite.list) throws -> DownloadRequest {
        try rig.film(target) { $0.container = .matroska }
    }

    private func failure(_ rig: DownloaderRig, _ downloader: Downloader) async throws -> DownloadError {
        try await #require(throws: DownloadError.self) {
            _ = try await downloader.add(try request(rig)).result()
        }
    }

    @Test func takesWhatTheProgramWrote() async throws {
        try await scripted("printf film > \"$target\"") { rig, downloader in
            _ = try await downloader.add(try request(rig)).result()
            #expect(try rig.holdsOnly(TestContent(Array("film".utf8))))
        }
    }

    @Test func saysThatTheProgramWroteNothing() async throws {
        try await scripted("exit 0") { rig, downloader in
            let error = try await failure(rig, downloader)
            #expect(error.code == .invalidStream)
            #expect(error.message.contains("ffmpeg reported no error and wrote nothing"))
            #expect(try rig.holdsOnlyPart())
        }
    }

    @Test func refusesAFilmThatIsShortInBytesAndSeconds() async throws {
        try await scripted("printf film > \"$target\"") { rig, downloader in
            let error = try await #require(throws: DownloadError.self) {
                _ = try await downloader.add(try rig.film { $0.container = .mp4 }).result()
            }
            #expect(error.code == .invalidStream)
            #expect(error.message.contains("0 of 32 seconds"))
            #expect(try rig.holdsOnlyPart())
        }
    }

    /// The program ends in order in both cases.
    @Test(.enabled(if: FilmProgram.isInstalled, FilmProgram.isNeeded), arguments: [149, 150])
    func comparesThePicturesOfTheFilmWithThoseOfItsSegments(_ written: Int) async throws {
        let site = try await FilmSource.plain.value.stream().site()
        let report = "printf 'frame=1\\nprogress=continue\\nframe= \(written)\\nprogress=end\\n'"
        try await scripted("printf film > \"$target\"; " + report, on: site) { rig, downloader in
            guard written < 150 else {
                _ = try await downloader.add(try request(rig)).result()
                return
            }
            let error = try await failure(rig, downloader)
            #expect(error.code == .invalidStream)
            #expect(error.message.contains("149 of the 150 pictures"))
            #expect(try rig.holdsOnlyPart())
        }
    }

    @Test func endsAProgramThatWritesNothingMore() async throws {
        try await scripted("printf film > \"$target\"; sleep 100000", patience: .milliseconds(200)) { rig, downloader in
            let error = try await failure(rig, downloader)
            #expect(error.code == .invalidStream)
            #expect(error.message.contains("was ended"))
            #expect(try rig.holdsOnlyPart())
        }
    }

    @Test func namesTheLimitOfOpenFiles() async throws {
        try await scripted("echo \"$target: Too many open files\" >&2; exit 1") { rig, downloader in
            let error = try await failure(rig, downloader)
            #expect(error.code == .diskFailed)
            #expect(error.message.contains("LimitNOFILE"))
        }
    }

    /// No argument of the program contains a part of the file's path, whatever characters the path has.
    @Test func namesNoPathToTheProgram() async throws {
        try await scripted("printf '%s' \"$*\" > \"$target\"") { rig, downloader in
            _ = try await downloader.add(try request(rig)).result()
            let arguments = try String(contentsOfFile: rig.path, encoding: .utf8)
            #expect(!arguments.contains("file.bin"))
            #expect(!arguments.contains(rig.folder))
        }
    }

    @Test(.enabled(if: DescriptorLimit.now < DescriptorLimit.most)) func letsAProgramOpenAllThatTheHardLimitAllows()
        async throws
    {
        let before = DescriptorLimit.now
        let output = try await ProgramOutput.of(
            "/bin/sh",
            ["-c", "test $(ulimit -Sn) = $(ulimit -Hn)"],
            environment: ["PATH": "/usr/bin:/bin"],
            opensManyFiles: true
        )
        #expect(output.status == 0)
        #expect(DescriptorLimit.now == before)
    }

    /// A program that a killed process left behind still writes the removed file.
    @Test func changesNothingOfANewFileByTheRemovedOne() async throws {
        try await TemporaryFolder.with { folder in
            let disk = PosixDisk()
            let earlier = try disk.create(folder("film"))
            let file = try disk.createAnew(folder("film"))
            try earlier.write([ByteBuffer(string: "left over")], at: 0)
            #expect(try file.size() == 0)
            #expect(try folder.names == ["film"])
        }
    }

    // MARK: A later request

    /// The first run has all segments, and its program fails.
    private func failed(
        _ container: DownloadRequest.Stream.Container,
        then program: String? = nil,
        _ test: (DownloaderRig, Downloader) async throws -> Void
    ) async throws {
        let script = try HookScript("exit 1")
        try await StreamSite(film).run { rig in
            let path = script.path
            try await rig.opened(FFmpeg.Terms(find: { path })) { downloader in
                await #expect(throws: DownloadError.self) {
                    _ = try await downloader.add(try rig.film { $0.container = container }).result()
                }
            }
            try await rig.opened(FFmpeg.Terms(find: { program })) { downloader in try await test(rig, downloader) }
        }
        withExtendedLifetime(script) {}
    }

    @Test(arguments: [DownloadRequest.Stream.Container.automatic, .mp4, .matroska])
    func makesTheContainerOfTheLaterRequest(_ earlier: DownloadRequest.Stream.Container) async throws {
        try await failed(earlier) { rig, downloader in
            let asked = rig.paths().count
            _ = try await downloader.add(try rig.film { $0.container = .transportStream }).result()
            #expect(try rig.holdsOnly(film.content))
            #expect(rig.paths(from: asked).allSatisfy { $0 == StreamSite.list })
        }
    }

    @Test func namesTheContainerThatNeedsNoProgram() async throws {
        try await failed(.automatic) { rig, downloader in
            let error = try await #require(throws: DownloadError.self) {
                _ = try await downloader.add(try rig.film { $0.container = .automatic }).result()
            }
            #expect(error.code == .programMissing)
            #expect(error.message.contains("or choose the container ts"))
        }
    }

    // MARK: The real program

    private func pictures(_ seconds: Int, _ options: [String] = []) throws -> [UInt8] {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let program = try #require(SystemPrograms.path(of: "ffmpeg"))
        try SystemCommand.run(
            [program, "-v", "error", "-f", "lavfi", "-i", "testsrc=s=64x64:d=\(seconds)", "-c:v", "mpeg2video"]
                + options + ["-f", "mpegts", folder("film.ts")]
        )
        return Array(try Data(contentsOf: URL(fileURLWithPath: folder("film.ts"))))
    }

    @Test(
        .enabled(if: SystemPrograms.path(of: "ffmpeg") != nil),
        arguments: ["it's", "a\\b", "a\nb", "-a", "%d", "a:b", "a,,:b", "\"a\"", "concat:a", " a "]
    )
    func putsAFilmTogetherInAnyFolder(_ name: String) async throws {
        let site = StreamSite()
        site.put(try pictures(2), at: "/talk/0.ts")
        site.put(TestStream.playlist([TestStream.entry("0.ts", 2)]), at: StreamSite.list)
        try await site.run { rig in
            var request = try request(rig)
            request.destination = .file(path: rig.folder + "/" + name + "/film.mkv")
            let completed = try await rig.download(request)
            #expect(completed.bytes > 0)
        }
    }

    @Test(.enabled(if: SystemPrograms.path(of: "ffmpeg") != nil)) func putsManyPartsTogether() async throws {
        let site = StreamSite()
        site.put(try pictures(1), at: "/talk/0.ts")
        let entries = (0..<40).map { _ in "#EXT-X-DISCONTINUITY\n" + TestStream.entry("0.ts", 1) }
        site.put(TestStream.playlist(entries), at: StreamSite.list)
        try await site.run { rig in
            let completed = try await rig.download(try request(rig))
            // One part alone is smaller than its segment.
            #expect(completed.bytes > (site.bytes(at: "/talk/0.ts")?.count ?? 0) * 10)
        }
    }

    /// The film is a small part of its segments, which consist of stuffing.
    @Test(.enabled(if: SystemPrograms.path(of: "ffmpeg") != nil)) func takesAWholeFilmOfFewBytes() async throws {
        let site = StreamSite()
        let segment = try pictures(4, ["-muxrate", "4000000"])
        site.put(segment, at: "/talk/0.ts")
        site.put(TestStream.playlist([TestStream.entry("0.ts")]), at: StreamSite.list)
        try await site.run { rig in
            let completed = try await rig.download(try rig.film { $0.container = .mp4 })
            #expect(completed.bytes < segment.count / 2)
        }
    }
}

extension DownloaderRig {
    /// Shuts the rig's downloader down and opens another one that uses this program.
    fileprivate func opened(_ ffmpeg: FFmpeg.Terms, _ test: (Downloader) async throws -> Void) async throws {
        await downloader.shutDown()
        let other = try await Downloader(configuration, ffmpeg: ffmpeg)
        let result: Result<Void, any Error>
        do { result = .success(try await test(other)) } catch { result = .failure(error) }
        await other.shutDown()
        try result.get()
    }
}
