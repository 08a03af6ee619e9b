import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Whether the owner named in a record is still alive.
struct StoreOwnerTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func owner() throws -> StoreOwner { try StoreOwner(folder("n.owners")) }

    @Test func seesAnotherForAsLongAsItIsThere() throws {
        let one = try owner()
        let number: Int64
        do {
            let other = try owner()
            #expect(one.isAlive(other.number) && other.isAlive(one.number) && one.number != other.number)
            number = other.number
            withExtendedLifetime(other) {}
        }
        // The file of `other` is closed, as after a kill of its process.
        #expect(!one.isAlive(number) && one.isAlive(one.number))
    }

    @Test func knowsWhetherOthersAreThere() throws {
        let one = try owner()
        #expect(!one.hasMetOthers && !StoreOwner().hasMetOthers)
        let other = try owner()
        #expect(one.hasMetOthers && other.hasMetOthers)
        other.leave()
        // The other user may have left something behind.
        #expect(one.hasMetOthers)
        one.leave()
        // `one` was present when `other` came, and may have changed what `other` had read.
        #expect(other.hasMetOthers)
        other.leave()
        #expect(try !owner().hasMetOthers)
    }

    @Test func takesNobodyForAliveWhoHasLeft() throws {
        let (one, other) = (try owner(), try owner())
        other.leave()
        #expect(!one.isAlive(other.number))
    }

    @Test func believesNoNumberOfAProcess() throws {
        let one = try owner()
        let process = Int64(ProcessInfo.processInfo.processIdentifier)
        // The number of a live process, alone and combined with the number of another lock.
        for number in [1, process, 5 << 32 | process, -1, .max, .min] { #expect(!one.isAlive(number)) }
        #expect(StoreOwner.process(one.number) == Int32(process))
    }

    @Test func survivesTheClosingOfAnotherDescriptorOfTheFile() throws {
        let (one, other) = (try owner(), try owner())
        // Process locks (`F_SETLK`) would be released here.
        for _ in 0..<3 { _ = try PosixFile(folder("n.owners"), flags: O_RDWR) }
        #expect(one.isAlive(other.number) && other.isAlive(one.number))
    }
}
