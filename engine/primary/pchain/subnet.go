package pchain

import (
	"bytes"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// subnet is a subnet with what the chain needs of it.
type subnet struct {
	ID     chain.ID
	place  primary.Place
	time   uint64
	owners utxo.Owners
	// conversion is the transaction that made it an L1, zero if none did.
	conversion, managerChain chain.ID
	managerAddress           []byte
	// elastic: stake in its own asset is rewarded.
	elastic               bool
	minRate, maxRate, cap uint64
	supply                uint64
}

// The subnet codec, version 1.
const subnetVersion = 1

func (s *subnet) encode() []byte {
	e := &primary.Encoder{}
	e.U8(subnetVersion)
	e.Place(s.place)
	e.Uint(s.time)
	e.Owners(&s.owners)
	e.Bool(!s.conversion.IsZero())
	if !s.conversion.IsZero() {
		e.ID(s.conversion)
		e.ID(s.managerChain)
		e.Bytes(s.managerAddress)
	}
	e.Bool(s.elastic)
	if s.elastic {
		for _, v := range []uint64{s.minRate, s.maxRate, s.cap, s.supply} {
			e.Uint(v)
		}
	}
	return e.B
}

func decodeSubnet(id chain.ID, b []byte) (*subnet, error) {
	d := primary.NewDecoder(b)
	s := &subnet{ID: id}
	if d.U8() != subnetVersion {
		return nil, fmt.Errorf("%w: subnet %s", primary.ErrRow, id)
	}
	s.place, s.time, s.owners = d.Place(), d.Uint(), d.Owners()
	if d.Bool() {
		s.conversion, s.managerChain = d.ID(), d.ID()
		s.managerAddress = bytes.Clone(d.Bytes())
	}
	if s.elastic = d.Bool(); s.elastic {
		s.minRate, s.maxRate, s.cap, s.supply = d.Uint(), d.Uint(), d.Uint(), d.Uint()
	}
	return s, d.End("subnet")
}

// subnet returns a subnet, nil if it is not known.
func (m *machine) subnet(id chain.ID) (*subnet, error) {
	b, found, err := m.rows.Get(m.rows.Key(store.PlatformSubnets).ID(id))
	if err != nil || !found {
		return nil, err
	}
	return decodeSubnet(id, b)
}

func (m *machine) putSubnet(s *subnet) {
	m.rows.Put(m.rows.Key(store.PlatformSubnets).ID(s.ID), s.encode())
}

// listSubnet writes a subnet that is new or has changed, with its row in the list: there
// its supply, which each stake changes, is not kept up to date.
func (m *machine) listSubnet(s *subnet) {
	m.putSubnet(s)
	m.rows.Put(m.rows.Key(store.PlatformSubnetList).U64(s.time).Place(s.place), append(bytes.Clone(s.ID[:]), s.encode()...))
}

// changeSubnet changes a subnet that must be there, if all is known.
func (m *machine) changeSubnet(id chain.ID, change func(*subnet)) error {
	s, err := m.subnet(id)
	if err != nil {
		return err
	}
	if s == nil || id == chain.PrimaryNetworkID {
		if m.head.Exact || id == chain.PrimaryNetworkID {
			return fmt.Errorf("%w: no such subnet: %s", ErrRefused, id)
		}
		return nil
	}
	change(s)
	m.listSubnet(s)
	return nil
}

// addChain writes a blockchain's rows; place is that of its transaction.
func (m *machine) addChain(id chain.ID, t *platform.CreateChain, place primary.Place, time uint64) {
	e := &primary.Encoder{}
	e.U8(chainVersion)
	e.ID(t.Subnet)
	e.ID(t.VM)
	e.Place(place)
	e.Uint(time)
	e.Bytes([]byte(t.Name))
	m.rows.Put(m.rows.Key(store.PlatformChains).ID(id), e.B)
	for _, k := range []primary.Key{m.rows.Key(store.PlatformChainList).U8(listAll), m.rows.Key(store.PlatformChainList).U8(listSubnet).ID(t.Subnet)} {
		m.rows.Put(k.U64(time).Place(place), append(bytes.Clone(id[:]), e.B...))
	}
}

// The blockchain codec, version 1: u8 1 | subnet | VM | place | time | name.
const chainVersion = 1

func decodeChain(id chain.ID, b []byte) (*primary.Blockchain, primary.Place, error) {
	d := primary.NewDecoder(b)
	c := &primary.Blockchain{ID: id}
	if d.U8() != chainVersion {
		return nil, primary.Place{}, fmt.Errorf("%w: blockchain %s", primary.ErrRow, id)
	}
	c.Subnet, c.VM = d.ID(), d.ID()
	place := d.Place()
	c.Height, c.Time, c.Name = place.Height, d.Uint(), string(d.Bytes())
	return c, place, d.End("blockchain")
}
