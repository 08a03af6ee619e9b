import ArgumentParser

/// The number of downloads that run at once.
struct QueueOptions: ParsableArguments {
    @Option(name: [.customShort("j", allowingJoined: true), .long], help: "Number of files to download at once.")
    var jobs: Int = 3

    func validate() throws {
        guard (1...1000).contains(jobs) else { throw ValidationError("--jobs takes a number from 1 to 1000.") }
    }
}
