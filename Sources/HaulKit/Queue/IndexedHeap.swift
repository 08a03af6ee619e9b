/// A binary heap of small numbers, each of which names something that lies elsewhere. Everyone in it is told its place,
/// so that it can be moved or removed from the middle: nothing stale is ever left behind.
///
/// What precedes what is asked of the caller each time, and has to stay the same while a number is in, but for the one
/// that ``settle(at:precedes:moved:)`` is called for. The first number lies in the heap itself: a heap of one, of which
/// there may be 100,000, allocates nothing.
struct IndexedHeap: Sendable {
    private var rest: [Int32] = []
    private var top: Int32 = -1

    typealias Precedes = (Int, Int) -> Bool
    /// A number and its place now; ``outside`` when it has left.
    typealias Moved = (_ number: Int, _ place: Int) -> Void

    static let outside = -1

    var isEmpty: Bool { top < 0 }
    var count: Int { top < 0 ? 0 : rest.count + 1 }
    /// All of them, in no order but that the first is the first.
    var numbers: [Int] { top < 0 ? [] : [Int(top)] + rest.map(Int.init) }

    /// The one that precedes all others.
    var first: Int? { top < 0 ? nil : Int(top) }

    /// Setting is for one who goes by another number from now on.
    subscript(place: Int) -> Int {
        get { Int(place == 0 ? top : rest[place - 1]) }
        set {
            if place == 0 { top = Int32(newValue) } else { rest[place - 1] = Int32(newValue) }
        }
    }

    mutating func insert(_ number: Int, precedes: Precedes, moved: Moved) {
        let place = count
        if place > 0 { rest.append(Int32(number)) }
        sink(number, from: rise(number, from: place, precedes, moved), precedes, moved)
    }

    mutating func remove(at place: Int, precedes: Precedes, moved: Moved) {
        moved(self[place], Self.outside)
        let last = count - 1
        let number = self[last]
        if last == 0 {
            top = -1
            return
        }
        rest.removeLast()
        // What has emptied gives back its memory.
        if rest.isEmpty { rest = [] }
        guard place != last else { return }
        sink(number, from: rise(number, from: place, precedes, moved), precedes, moved)
    }

    /// Finds the place of one whose rank has changed.
    mutating func settle(at place: Int, precedes: Precedes, moved: Moved) {
        let number = self[place]
        sink(number, from: rise(number, from: place, precedes, moved), precedes, moved)
    }

    /// Brings a number in, out, or to the place that it has now, whichever it takes.
    mutating func set(_ number: Int, at place: Int, isIn: Bool, precedes: Precedes, moved: Moved) {
        switch (place == Self.outside, isIn) {
        case (true, true): insert(number, precedes: precedes, moved: moved)
        case (false, true): settle(at: place, precedes: precedes, moved: moved)
        case (false, false): remove(at: place, precedes: precedes, moved: moved)
        case (true, false): break
        }
    }

    /// - Returns: the place up to which all that it precedes have moved back.
    private mutating func rise(_ number: Int, from place: Int, _ precedes: Precedes, _ moved: Moved) -> Int {
        var place = place
        while place > 0 {
            let above = self[(place - 1) / 2]
            guard precedes(number, above) else { break }
            put(above, at: place, moved)
            place = (place - 1) / 2
        }
        return place
    }

    private mutating func sink(_ number: Int, from place: Int, _ precedes: Precedes, _ moved: Moved) {
        var place = place
        let count = count
        while 2 * place + 1 < count {
            var below = 2 * place + 1
            if below + 1 < count, precedes(self[below + 1], self[below]) { below += 1 }
            guard precedes(self[below], number) else { break }
            put(self[below], at: place, moved)
            place = below
        }
        put(number, at: place, moved)
    }

    private mutating func put(_ number: Int, at place: Int, _ moved: Moved) {
        self[place] = number
        moved(number, place)
    }
}
