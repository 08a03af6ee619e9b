import Foundation
import Testing

@testable import HaulCore
@testable import HaulKit

struct HomeFolderTests {
    @Test func isWhatTheEnvironmentSays() {
        #expect(HomeFolder.path(["HOME": "/h"]) == "/h")
        #expect(HomeFolder.path(".netrc", ["HOME": "/h/"]) == "/h/.netrc")
        for odd in [[:], ["HOME": ""], ["HOME": "relative"]] { #expect(HomeFolder.path(odd) == NSHomeDirectory()) }
    }

    @Test func keepsTheStateInIt() {
        #expect(Downloader.Configuration.Storage.defaultFolder(["HOME": "/h"]) == "/h/.local/state/haul")
        #expect(Downloader.Configuration.Storage.defaultFolder(["HOME": "/h", "XDG_STATE_HOME": "/x"]) == "/x/haul")
        #expect(
            Downloader.Configuration.Storage.defaultFolder(["HOME": "/h", "XDG_STATE_HOME": "x"])
                == "/h/.local/state/haul"
        )
        #expect(Downloader.Configuration.Storage.defaultFolder(["HOME": "/h", "HAUL_STATE_DIR": "s"]) == "s")
    }
}
