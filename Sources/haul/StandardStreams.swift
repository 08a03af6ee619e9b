import CHaulSystem
import Foundation

/// Prepares the standard streams before anything else: ignores SIGPIPE, gives SIGQUIT its default action unless it is
/// ignored, and opens closed streams at `/dev/null`.
enum StandardStreams {
    static func prepare() {
        // Downloads continue when the reader of the output has ended. A write then fails and is not repeated.
        signal(SIGPIPE, SIG_IGN)
        // The Swift runtime treats SIGQUIT (Ctrl-\) as a crash, and takes seconds to write a report.
        if haul_ignores_signal(SIGQUIT) == 0 { signal(SIGQUIT, SIG_DFL) }
        // Fills closed streams. Otherwise the next opened file would get the number of the stream, and output for the
        // stream would go into that file.
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // Ignores a failure, because nothing else can be done.
            _ = open("/dev/null", O_RDWR)
        }
    }
}
