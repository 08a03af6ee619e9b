import Foundation
import HaulKit

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Downloads the lessons of a course into a folder, from links that expire: `CourseDownloader INDEX-URL FOLDER`.
///
/// The same command resumes interrupted downloads.
@main enum CourseDownloader {
    static func main() async {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let index = URL(string: arguments[1]), index.host != nil else {
            complain("usage: CourseDownloader INDEX-URL FOLDER")
            exit(64)
        }
        do {
            let isComplete = try await fetch(Index(url: index), into: arguments[2])
            exit(isComplete ? 0 : 1)
        } catch {
            complain("\(error)")
            exit(1)
        }
    }

    /// - Returns: Whether every lesson is complete.
    private static func fetch(_ index: Index, into folder: String) async throws -> Bool {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // The store lies in the course's folder and moves with it.
        var configuration = Downloader.Configuration(stateFolder: folder + "/.haul")
        configuration.storage.name = "course"
        configuration.sources.provider = { query in try await index.source(query) }
        let downloader = try await Downloader(configuration)
        do {
            let isComplete = try await fetch(try await index.course(), into: folder, downloader)
            await downloader.shutDown()
            return isComplete
        } catch {
            await downloader.shutDown()
            throw error
        }
    }

    private static func fetch(_ course: Course, into folder: String, _ downloader: Downloader) async throws -> Bool {
        // Downloads the cover first, because each lesson stores the cover's path.
        var request = DownloadRequest(key: course.title, to: .folder(path: folder))
        request.suggestedName = "cover." + course.cover.pathExtension
        let cover = try await downloader.add(request).result().path

        let group = downloader.group(course.title)
        // The sequence has only events from its creation on.
        let events = group.events
        let progress = Task { await show(events, of: group) }
        let requests = try course.lessons.map { try Self.request($0, of: course, cover: cover, into: folder) }
        for result in await downloader.add(requests) { await wait(for: result) }
        progress.cancel()
        await progress.value
        return try await printTable(group)
    }

    private static func request(
        _ lesson: Course.Lesson,
        of course: Course,
        cover: String,
        into folder: String
    ) throws -> DownloadRequest {
        var request = DownloadRequest(key: course.key(of: lesson), to: .folder(path: folder))
        request.group = course.title
        // A slash in the name would end the name of a folder.
        request.suggestedName = lesson.title.replacing("/", with: "-") + "." + lesson.video.pathExtension
        request.metadata = try DownloadRequest.Metadata(LessonInfo(title: lesson.title, cover: cover))
        return request
    }

    private static func wait(for added: Result<Download, DownloadError>) async {
        do throws(DownloadError) {
            _ = try await added.get().result()
        } catch { complain("\(error)") }
    }

    /// Prints the progress of the group at each new percent.
    private static func show(_ events: DownloaderEvents, of group: DownloadGroup) async {
        var shown = 0
        for await event in events {
            if case .changed = event { continue }
            // If the store cannot be read, the progress is unknown.
            guard let summary = try? await group.summary(), summary.state == .running else { continue }
            let percent = Int(summary.fraction * 100)
            if percent > shown { print(line(summary, of: group)) }
            shown = max(shown, percent)
        }
    }

    private static func line(_ summary: DownloadSummary, of group: DownloadGroup) -> String {
        "\(group.name): \(Int(summary.fraction * 100)) %, \(summary.completed) of \(summary.count) lessons"
    }

    /// Prints the records of the group.
    ///
    /// - Returns: Whether every lesson is complete.
    private static func printTable(_ group: DownloadGroup) async throws -> Bool {
        let summary = try await group.summary()
        print(line(summary, of: group))
        print("state\tbytes\tlesson\tfile\tcover")
        for lesson in try await group.list() {
            let info = try lesson.metadata?.decoded(as: LessonInfo.self)
            let texts = [info?.title ?? "", lesson.path ?? "", info?.cover ?? ""]
            print("\(lesson.state)\t\(lesson.receivedBytes)\t" + texts.joined(separator: "\t"))
        }
        return summary.state == .completed
    }

    private static func complain(_ sentence: String) {
        FileHandle.standardError.write(Data((sentence + "\n").utf8))
    }
}

/// Metadata that the store keeps with each lesson.
struct LessonInfo: Codable {
    var title: String
    /// Path of the course's cover.
    var cover: String
}

/// The JSON document that lists a course. Its links work for a few seconds.
struct Course: Codable {
    struct Lesson: Codable {
        var title: String
        var video: URL
    }
    var title: String
    var cover: URL
    var lessons: [Lesson]

    func key(of lesson: Lesson) -> String { "\(title)/\(lesson.title)" }

    /// Returns the document's link for a key, or `nil` for an unknown key.
    func link(for key: String?) -> URL? {
        key == title ? cover : lessons.first { self.key(of: $0) == key }?.video
    }
}

/// The service that returns the document, with fresh links each time.
struct Index: Sendable {
    let url: URL

    func course() async throws -> Course {
        let (data, response) = try await URLSession.shared.data(from: url)
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard status == 200 else { throw IndexError(sentence: "The index answered \(status).") }
        return try JSONDecoder().decode(Course.self, from: data)
    }

    /// Returns a fresh link. The downloader calls this at the start of a download and after a refused link.
    func source(_ query: SourceQuery) async throws -> DownloadSource {
        guard let link = try await course().link(for: query.key) else {
            throw IndexError(sentence: "The index has no \(query.key ?? "key") any more.")
        }
        return DownloadSource(link)
    }
}

/// Reason why there is no link.
struct IndexError: Error, CustomStringConvertible {
    let sentence: String
    var description: String { sentence }
}
