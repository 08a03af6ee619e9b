extension UInt8 {
    /// Lower case of an ASCII letter; no other byte becomes a letter.
    var asciiLowercased: UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self + 32 : self }
}
