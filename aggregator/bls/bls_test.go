package bls

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"
)

// localNetwork are the five keys of avalanchego's network "local", with what
// its own BLS code gives for the message "quorate".
var localNetwork = []struct{ secret, public, signature, proof string }{
	{
		"AvalancheLocalNetworkValidator01",
		"900c9b119b5c82d781d4b49be78c3fc7ae65f2b435b7ed9e3a8b9a03e475edff86d8a64827fec8db23a6f236afbf127d",
		"8b1ab49b0a5e65a4a5a4ea0ef2a3d5a04d483025e2c64150a51eb0cfc45dffaaedc66e1d856c91170ebadd61b755f2e90bfc7433ddce2627ef0ed7ab178e876d613f5e8c589767330b741591b0d50e4bdb52b4047e9bd2bab55f2e6d35ba263e",
		"a93e8ca1f3fecb9a1a8ee570fe7c8a1aadec9b9d8f1c6c7b82cd538dbe7fca543100442afa59d71ce1d47891590bd6d411b59152b98b83d78f9dc5bb9ca365b275925296a75f5e813c6fbb45b71fed1d3a620cda266d9b47fd5d8c3672abc984",
	},
	{
		"AvalancheLocalNetworkValidator02",
		"a058ff27a4c570664bfa28e34939368539a1340867951943d0f56fa8aac13bc09ff64f341acf8cc0cef74202c2d6f9c0",
		"874ece54613f954bbab46663832eeebdff7b8232823c5f1853497fbd32241357be961f99b6274f2a1fa9fa120ecf855b1915fdbe0c5e7e0efd46da61125b2662b5393bef8fe0cfc687a5b3d15684dc058145870fa84c1722e0d6fbb53096bc75",
		"b6da1f7d05cbd73834643f39de767620df432fd2f6f41e2b7e42b920793025d8fd8cfcc64de205ecf9aa3f84988c48da0c5743d3e2a91b204baa1ca0e3c0baeec6ea529c0b49e6f22a52b73d07211714d9f66dc1ab33f728558df7d7ec654f49",
	},
	{
		"AvalancheLocalNetworkValidator03",
		"a10b6955a85684a0f5c94b8381f04506f1bee60625927d372323f78b3d30196cc56c8618c77eaf429298e74673d832c3",
		"82716c511f435ada26ae3b1ad5f1ece376bf3585385c830f7805d1c0f33ccb1614b46a1b73e011e60a692f9844db79630a6138dd4f1ccf8a1c5d676040a046acb51eba901f550b76e5e4808fe44f57a4f32d9b9bbb7df0769c54d6f43c7e7d75",
		"92d852f34a460a49186c519b86bb5c25be7471392fc8b0029ed92dc8dd7d157ca015e662ff33c3e5fb848b8f817f69d2057a32d3515b6c3953900d7762527c92b4415d3646cb9e57dc1bc29a16d28824699292363eb6ab9b50b7c8a420f7f15c",
	},
	{
		"AvalancheLocalNetworkValidator04",
		"accd61ceb90c61628aa0fa34acab27ecb08f6897e9ccad283578c278c52109f9e10e4f8bc31aa6d7905c4e1623de367e",
		"91db432f0e1f224f19f996e7ce0d6660357d8f2897053ada7e84dcfd798c914291d4d41d1c060771ef9bdf6cae11f26212e880d0f8cabc3de12c21564c6d2b8ea6687b13d9fb215767d9e7e9cf7d2a002df5ce90efffbc9b5f8919904d5a221c",
		"83bbd2f952b9fc9f8aa4b46c619219f95289d4daf65d1657f8abe30bd2ffdd89fa6ca106adacc9dcf4200b23d18b1e4b004772a292670b8e1460d59307ec92b95ddb0c5df73d2c8e329572e247be0e0ec518c1bb0729f0c09497557e46decb9c",
	},
	{
		"AvalancheLocalNetworkValidator05",
		"8048109c3da13de0700f9f3590c3270bfc42277417f6d0cc84282947e1a1f8b4980fd3e3fe223acf0f56a5838890814a",
		"931a01095b57d6505f279472de56952e0da2c54265c1f20bb4b30e6c909503988db11dc32c956a169a5a1db49e110e2f0212c920c95e343c3dd993d2a1045f853eecfc11fe1581d45d628ad11451c5a27534d5d381c6864a0a22c65d7e820b40",
		"aa0ca50e5d3d3a4ed43df454794b859f9285396db8518e4b43f73f47f11daa5539d286cb569762c65442e7b75f482a3816b8a0a118a8704e33962339ddac0c56c3acc35ebe4c0e89adc23186bde53075a16972292a99956c4264aa9663b4c03b",
	},
}

// localAggregate is the sum of the five signatures.
const localAggregate = "9954c5d2fdcf55ecd6e5810473ab0067c955ae152023ab9df6de3ed12b2009a293ddaf807729f1347724b70c26441d77154a2b94faab2da251f1804b946a36509c51c5252191925f90cd4e517abffd6c099a2b13be08afc36cb4d0dce0d29c62"

func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestVectors(t *testing.T) {
	t.Parallel()
	text := []byte("quorate")
	var keys []*PublicKey
	var sigs []*Signature
	for _, v := range localNetwork {
		sk, err := SecretKeyFromBytes([]byte(v.secret))
		if err != nil {
			t.Fatal(err)
		}
		if b := sk.Bytes(); string(b[:]) != v.secret {
			t.Errorf("%s: secret key reads back as %x", v.secret, b)
		}
		pk := sk.PublicKey().Compressed()
		sig, proof := sk.Sign(text), sk.SignProof(text)
		for _, c := range []struct {
			what string
			got  []byte
			want string
		}{{"public key", pk[:], v.public}, {"signature", sig[:], v.signature}, {"proof", proof[:], v.proof}} {
			if hex.EncodeToString(c.got) != c.want {
				t.Errorf("%s: %s: got %x, want %s", v.secret, c.what, c.got, c.want)
			}
		}
		key, err := ParsePublicKey(pk[:])
		if err != nil {
			t.Fatal(err)
		}
		if *key != *sk.PublicKey() {
			t.Errorf("%s: parsed public key differs from the derived one", v.secret)
		}
		decoded, err := DecodeSignature(sig[:])
		if err != nil {
			t.Fatal(err)
		}
		keys, sigs = append(keys, key), append(sigs, decoded)
	}
	sum := SumSignatures(sigs)
	if b := sum.Bytes(); hex.EncodeToString(b[:]) != localAggregate {
		t.Errorf("aggregate: got %x", b)
	}
	key := SumKeys(keys)
	if !Verify(&key, HashMessage(text), &sum) {
		t.Error("aggregate of the oracle is not accepted")
	}
	if Verify(&key, HashMessage([]byte("other")), &sum) {
		t.Error("aggregate is accepted for another message")
	}
	if four := SumKeys(keys[1:]); Verify(&four, HashMessage(text), &sum) {
		t.Error("aggregate is accepted for fewer keys")
	}
	proof, err := DecodeAggregate(unhex(t, localNetwork[0].proof))
	if err != nil {
		t.Fatal(err)
	}
	if one := SumKeys(keys[:1]); Verify(&one, HashMessage(text), &proof) {
		t.Error("a proof of possession passes as a signature")
	}
}

func TestCanonicalOrder(t *testing.T) {
	t.Parallel()
	var keys []*PublicKey
	for _, v := range localNetwork {
		key, err := ParsePublicKey(unhex(t, v.public))
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	slices.SortFunc(keys, (*PublicKey).Compare)
	var got []string
	for _, k := range keys {
		c, u := k.Compressed(), k.Uncompressed()
		got = append(got, hex.EncodeToString(c[:1]))
		if !bytes.Equal(c[1:], u[1:PublicKeyLen]) || c[0]&0x1f != u[0] {
			t.Errorf("x of %x differs between the forms: %x", c, u)
		}
	}
	// As a live network's platform.getAllValidatorsAt orders them.
	if want := []string{"80", "a0", "a1", "ac", "90"}; !slices.Equal(got, want) {
		t.Errorf("order: got %v, want %v", got, want)
	}
}

func TestSeeds(t *testing.T) {
	t.Parallel()
	a, b := SecretKeyFromSeed(nil), SecretKeyFromSeed([]byte{0})
	if a.Bytes() != SecretKeyFromSeed([]byte{}).Bytes() || a.Bytes() == b.Bytes() {
		t.Error("seeds do not determine keys")
	}
}

func TestSecretKeyForms(t *testing.T) {
	t.Parallel()
	order := unhex(t, "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001")
	for name, c := range map[string]struct {
		b    []byte
		want error
	}{
		"zero":        {make([]byte, SecretKeyLen), ErrSecretKey},
		"group order": {order, ErrSecretKey},
		"short":       {order[1:], ErrLength},
		"long":        {append([]byte{0}, order...), ErrLength},
		"empty":       {nil, ErrLength},
	} {
		if _, err := SecretKeyFromBytes(c.b); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

func TestBadPublicKeys(t *testing.T) {
	t.Parallel()
	valid := unhex(t, localNetwork[0].public)
	infinity := append([]byte{0xc0}, make([]byte, PublicKeyLen-1)...)
	tooBig := unhex(t, "9"+strings.Repeat("f", 2*PublicKeyLen-1))
	uncompressed := bytes.Clone(valid)
	uncompressed[0] &^= 0x80
	for name, c := range map[string]struct {
		b    []byte
		want error
	}{
		"empty":            {nil, ErrLength},
		"short":            {valid[:47], ErrLength},
		"long":             {append(bytes.Clone(valid), 0), ErrLength},
		"infinity":         {infinity, ErrInfinity},
		"zeros":            {make([]byte, PublicKeyLen), ErrEncoding},
		"x above modulus":  {tooBig, ErrEncoding},
		"uncompressed bit": {uncompressed, ErrEncoding},
		"not on curve":     {firstPoint(t, PublicKeyLen, func(b []byte) bool { _, err := ParsePublicKey(b); return errors.Is(err, ErrEncoding) }), ErrEncoding},
		"other subgroup":   {firstPoint(t, PublicKeyLen, func(b []byte) bool { _, err := ParsePublicKey(b); return errors.Is(err, ErrSubgroup) }), ErrSubgroup},
	} {
		if _, err := ParsePublicKey(c.b); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

func TestBadSignatures(t *testing.T) {
	t.Parallel()
	valid := unhex(t, localNetwork[0].signature)
	infinity := append([]byte{0xc0}, make([]byte, SignatureLen-1)...)
	for name, c := range map[string]struct {
		b    []byte
		want error
	}{
		"empty":           {nil, ErrLength},
		"one byte":        {valid[:1], ErrLength},
		"95 bytes":        {valid[:95], ErrLength},
		"97 bytes":        {append(bytes.Clone(valid), 0), ErrLength},
		"infinity":        {infinity, ErrInfinity},
		"bad infinity":    {append(bytes.Clone(infinity[:95]), 1), ErrEncoding},
		"zeros":           {make([]byte, SignatureLen), ErrEncoding},
		"x above modulus": {bytes.Repeat([]byte{0x9f}, SignatureLen), ErrEncoding},
		"not on curve":    {firstPoint(t, SignatureLen, func(b []byte) bool { _, err := DecodeSignature(b); return errors.Is(err, ErrEncoding) }), ErrEncoding},
	} {
		if _, err := DecodeSignature(c.b); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		if _, err := DecodeAggregate(c.b); !errors.Is(err, c.want) {
			t.Errorf("%s as aggregate: got %v, want %v", name, err, c.want)
		}
	}
}

// firstPoint tries x = 1, 2, 3... in compressed form until ok.
func firstPoint(tb testing.TB, n int, ok func([]byte) bool) []byte {
	tb.Helper()
	b := make([]byte, n)
	b[0] = 0x80
	for x := 1; x < 256; x++ {
		b[n-1] = byte(x)
		if ok(b) {
			return b
		}
	}
	tb.Fatal("no such point among the first 255")
	return nil
}

func TestDecodeAllocates(t *testing.T) {
	raw := unhex(t, localNetwork[0].signature)
	sig := new(Signature)
	if n := testing.AllocsPerRun(10, func() {
		if err := DecodeSignatureInto(sig, raw); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("decoding into the caller's memory allocates %v times", n)
	}
}

func FuzzDecodeSignature(f *testing.F) {
	for _, v := range localNetwork {
		f.Add(unhex(f, v.signature))
	}
	f.Add(append([]byte{0xc0}, make([]byte, SignatureLen-1)...))
	f.Add([]byte{0x80})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := DecodeSignature(b)
		if err != nil {
			return
		}
		if back := (AggregateSignature{s.p}).Bytes(); !bytes.Equal(back[:], b) {
			t.Fatalf("%x decodes to the point of %x", b, back)
		}
	})
}

func FuzzParsePublicKey(f *testing.F) {
	for _, v := range localNetwork {
		f.Add(unhex(f, v.public))
	}
	f.Add(append([]byte{0xc0}, make([]byte, PublicKeyLen-1)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := ParsePublicKey(b)
		if err != nil {
			return
		}
		if !k.p.KeyValidate() || !bytes.Equal(k.p.Compress(), b) {
			t.Fatalf("%x is accepted but is no valid key", b)
		}
	})
}
