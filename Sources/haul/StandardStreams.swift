import Foundation

/// What a command does about its standard streams before anything else.
enum StandardStreams {
    static func prepare() {
        // A reader that went away is no reason to break downloads off: writing to it fails, and is given up.
        signal(SIGPIPE, SIG_IGN)
        // The language's runtime takes Ctrl-\ for a crash, and writes a report of it for seconds.
        signal(SIGQUIT, SIG_DFL)
        // The number of a stream that is closed would be given to the next file that is opened, and what is meant for the
        // stream would be written into that file.
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // Without it there is nothing left to be tried.
            _ = open("/dev/null", O_RDWR)
        }
    }
}
