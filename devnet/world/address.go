package world

import "strings"

const bech32Digits = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

// pAddress gives the P-Chain form of an address: P-<hrp>1<data><checksum>, in Bech32 (BIP 173).
func pAddress(addr [20]byte) string {
	data := make([]byte, 0, 32)
	acc, bits := uint32(0), 0
	for _, b := range addr {
		acc, bits = acc<<8|uint32(b), bits+8
		for bits >= 5 {
			bits -= 5
			data = append(data, byte(acc>>bits)&31)
		}
	}
	var out strings.Builder
	out.WriteString("P-" + hrp + "1")
	sum := bech32Checksum(data)
	for _, d := range append(data, sum[:]...) {
		out.WriteByte(bech32Digits[d])
	}
	return out.String()
}

func bech32Checksum(data []byte) [6]byte {
	values := make([]byte, 0, 2*len(hrp)+1+len(data)+6)
	for i := range len(hrp) {
		values = append(values, hrp[i]>>5)
	}
	values = append(values, 0)
	for i := range len(hrp) {
		values = append(values, hrp[i]&31)
	}
	values = append(values, data...)
	values = append(values, make([]byte, 6)...)
	poly := uint32(1)
	for _, v := range values {
		top := poly >> 25
		poly = poly&0x1ffffff<<5 ^ uint32(v)
		for i, g := range [5]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				poly ^= g
			}
		}
	}
	poly ^= 1
	var sum [6]byte
	for i := range sum {
		sum[i] = byte(poly>>(5*(5-i))) & 31
	}
	return sum
}
