package address

const (
	charset = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
	// checkLen is the length of a checksum in groups of 5 bits.
	checkLen = 6
)

// generator has, for each value of the 5 bits that leave the checksum's register, what
// they change in it, as by BIP-173.
var generator = func() (table [32]uint32) {
	for top := range table {
		for i, g := range [5]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				table[top] ^= g
			}
		}
	}
	return table
}()

// check adds a group of 5 bits to the register.
func check(sum uint32, group byte) uint32 {
	return (sum&(1<<25-1))<<5 ^ uint32(group) ^ generator[sum>>25]
}

// Append appends the form without a chain. The prefix is in lower case.
func (a *Address) Append(b []byte, prefix string) []byte {
	sum := uint32(1)
	for i := range len(prefix) {
		sum = check(sum, prefix[i]>>5)
	}
	sum = check(sum, 0)
	for i := range len(prefix) {
		sum = check(sum, prefix[i]&31)
	}
	b = append(append(b, prefix...), '1')
	bits, n := uint32(0), 0
	for _, v := range a {
		bits, n = bits<<8|uint32(v), n+8
		for ; n >= 5; n -= 5 {
			group := byte(bits>>(n-5)) & 31
			sum = check(sum, group)
			b = append(b, charset[group])
		}
	}
	for range checkLen {
		sum = check(sum, 0)
	}
	sum ^= 1
	for i := range checkLen {
		b = append(b, charset[sum>>(5*(checkLen-1-i))&31])
	}
	return b
}
