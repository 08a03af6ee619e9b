import CHaulSystem
import Foundation

/// Prepares the standard streams, before anything else.
enum StandardStreams {
    static func prepare() {
        // Downloads continue when the reader of the output has ended: writing to it fails and is not repeated.
        signal(SIGPIPE, SIG_IGN)
        // The language's runtime takes Ctrl-\ for a crash, and writes a report of it for seconds.
        if haul_ignores_signal(SIGQUIT) == 0 { signal(SIGQUIT, SIG_DFL) }
        // The next file to be opened would get the number of a closed stream, and output for the stream would be written into
        // that file.
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // If this fails, nothing else can be done.
            _ = open("/dev/null", O_RDWR)
        }
    }
}
