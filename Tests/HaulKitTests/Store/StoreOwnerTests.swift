import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Whether whoever named itself in a record is still there.
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
        // Its file is closed, as it is when its process was killed.
        #expect(!one.isAlive(number) && one.isAlive(one.number))
    }

    @Test func knowsWhetherOthersAreThere() throws {
        let one = try owner()
        #expect(!one.hasMetOthers && !StoreOwner().hasMetOthers)
        let other = try owner()
        #expect(one.hasMetOthers && other.hasMetOthers)
        other.leave()
        // It may have left something behind.
        #expect(one.hasMetOthers)
        one.leave()
        // It was there when the other came, and may have changed what that one had read.
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
        // That of a living one, by itself and with another lock's.
        for number in [1, process, 5 << 32 | process, -1, .max, .min] { #expect(!one.isAlive(number)) }
        #expect(StoreOwner.process(one.number) == Int32(process))
    }

    @Test func survivesTheClosingOfAnotherDescriptorOfTheFile() throws {
        let (one, other) = (try owner(), try owner())
        // What locks of processes would not.
        for _ in 0..<3 { _ = try PosixFile(folder("n.owners"), flags: O_RDWR) }
        #expect(one.isAlive(other.number) && other.isAlive(one.number))
    }
}
