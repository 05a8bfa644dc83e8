package vectors

import (
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/components/verify"
)

// filler fills avalanchego's own structs with values that look random, the same
// each time: every member that its codec writes, found by the codec's tag, so that
// none can be forgotten here.
type filler struct {
	*rand.Rand
	// choices holds, by open type, what may stand there: a pointer to each.
	choices map[reflect.Type][]any
	// most bounds the length of lists.
	most int
	// used counts the choices that were made; order holds them as they were made
	// since it was last emptied.
	used  map[string]int
	order []string
}

func newFiller(seed uint64, choices map[reflect.Type][]any) *filler {
	return &filler{Rand: rand.New(rand.NewPCG(seed, 0)), choices: choices, most: 3, used: make(map[string]int)}
}

// openType is the interface type T.
func openType[T any]() reflect.Type { return reflect.TypeFor[T]() }

// fill fills what p points to.
func (f *filler) fill(p any) { f.value(reflect.ValueOf(p).Elem()) }

func (f *filler) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(f.Uint64()>>f.IntN(64) | 1) // all lengths, never zero
		if bits := v.Type().Bits(); bits < 64 {
			v.SetUint(v.Uint() & (1<<bits - 1))
		}
	case reflect.Int64:
		v.SetInt(f.Int64() >> f.IntN(63))
	case reflect.String:
		v.SetString([]string{"", "n", "C-Chain", "ключ 鍵 \"<&>\"\n"}[f.IntN(4)])
	case reflect.Array:
		for i := range v.Len() {
			f.value(v.Index(i))
		}
	case reflect.Slice:
		n := f.IntN(f.most + 1)
		if v.Type().Elem().Kind() == reflect.Uint8 {
			n = []int{0, 1, 20, 40}[f.IntN(4)]
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			f.value(v.Index(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.value(v.Elem())
	case reflect.Interface:
		f.choose(v)
	case reflect.Struct:
		f.members(v)
	default:
		panic(fmt.Sprintf("a member of kind %s", v.Kind()))
	}
}

func (f *filler) choose(v reflect.Value) {
	from := f.choices[v.Type()]
	if len(from) == 0 {
		panic(fmt.Sprintf("nothing to choose for %s", v.Type()))
	}
	choice := reflect.New(reflect.TypeOf(from[f.IntN(len(from))]).Elem())
	f.used[choice.Type().String()]++
	f.order = append(f.order, choice.Type().Elem().String())
	f.value(choice.Elem())
	v.Set(choice)
}

// members fills those that the codec writes. What a lock holds is never a lock.
func (f *filler) members(v reflect.Value) {
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("serialize") != "true" {
			continue
		}
		switch field := v.Field(i); field.Type() {
		case openType[avax.TransferableOut](), openType[avax.TransferableIn](), openType[verify.State]():
			if name := v.Type().Name(); name == "LockOut" || name == "LockIn" {
				f.locked(field)
				continue
			}
			f.value(field)
		default:
			f.value(field)
		}
	}
}

// locked fills what is locked with the first choice, which has no lock.
func (f *filler) locked(v reflect.Value) {
	plain := reflect.New(reflect.TypeOf(f.choices[v.Type()][0]).Elem())
	f.value(plain.Elem())
	v.Set(plain)
}

// mustUse returns an error unless all choices were made at least once.
func (f *filler) mustUse() error {
	for open, from := range f.choices {
		for _, choice := range from {
			if name := reflect.TypeOf(choice).String(); f.used[name] == 0 {
				return fmt.Errorf("no %s was chosen for %s", name, open)
			}
		}
	}
	return nil
}
