import ArgumentParser
import Foundation
import HaulAria2
import HaulKit
import HaulServer

/// Runs aria2's command line, for callers of `aria2c`.
struct Aria2Command {
    static let name = "aria2c"

    /// Returns the arguments of `aria2c` if the program was started under that name or as `haul aria2c`, else `nil`.
    static func words(_ words: [String]) -> [String]? {
        guard let program = words.first else { return nil }
        if program.split(separator: "/").last.map(String.init) == name { return Array(words.dropFirst()) }
        return words.dropFirst().first == name ? Array(words.dropFirst(2)) : nil
    }

    /// Runs the command line and ends the process with aria2's exit status.
    static func main(_ words: [String]) async -> Never {
        let status: Aria2ErrorCode
        do throws(Aria2CommandLine.Failure) {
            status = await run(words, try Aria2CommandLine(words))
        } catch {
            complain("\(name): \(error.sentence)", option: error.option)
            status = .badOption
        }
        Output.finish()
        Haul.exit(withError: ExitCode(Int32(status.rawValue)))
    }

    private static func complain(_ sentence: String, option: String? = nil) {
        Output.write(URL.maskedText(sentence, knowing: nil) + "\n")
        if let option = option.flatMap({ Aria2Option.named($0) }) {
            Output.write("Usage:\n\(Aria2Usage.text(option))\n")
        } else {
            Output.write(Aria2Usage.line + "\n")
        }
    }

    private static func run(_ words: [String], _ line: Aria2CommandLine) async -> Aria2ErrorCode {
        if line.wantsVersion {
            Output.result(Aria2Usage.versionText)
            return .complete
        }
        if let help = line.help {
            Output.result(Aria2Usage.help(help))
            return .complete
        }
        do throws(Aria2Settings.Failure) {
            let settings = try Aria2Settings(line, environment: ProcessInfo.processInfo.environment)
            if settings.global.flag("daemon") { return Aria2Daemon.start(words) }
            return await Aria2Process(settings).run()
        } catch {
            if error.option != nil || error.isAboutUsage {
                complain(error.sentence, option: error.option)
            } else {
                Output.write(URL.maskedText(error.sentence, knowing: nil) + "\n")
            }
            return error.status
        }
    }
}
