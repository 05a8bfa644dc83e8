package rollup

import "github.com/holiman/uint256"

// Metric is one of the figures of a bucket.
type Metric uint8

// The metrics.
const (
	ActiveAddresses Metric = iota
	ActiveSenders
	CumulativeTxCount
	CumulativeAddresses
	CumulativeContracts
	CumulativeDeployers
	Contracts
	Deployers
	GasUsed
	TxCount
	AvgGps
	MaxGps
	AvgTps
	MaxTps
	AvgGasPrice
	MaxGasPrice
	FeesPaid
)

// Metrics is the number of metrics.
const Metrics = 17

var metricNames = [Metrics]string{
	"activeAddresses", "activeSenders", "cumulativeTxCount", "cumulativeAddresses", "cumulativeContracts",
	"cumulativeDeployers", "contracts", "deployers", "gasUsed", "txCount", "avgGps", "maxGps", "avgTps", "maxTps",
	"avgGasPrice", "maxGasPrice", "feesPaid",
}

// ParseMetric reads a name as the API has it.
func ParseMetric(name string) (Metric, bool) {
	for m, s := range metricNames {
		if s == name {
			return Metric(m), true
		}
	}
	return 0, false
}

// String returns the name that the API has.
func (m Metric) String() string { return metricNames[m] }

// DayOnly reports whether the metric is there for days only.
func (m Metric) DayOnly() bool {
	switch m {
	case ActiveAddresses, ActiveSenders, GasUsed, TxCount, FeesPaid:
		return false
	}
	return true
}

// Cumulative reports whether the metric needs all blocks of a chain from the first on.
func (m Metric) Cumulative() bool {
	switch m {
	case CumulativeTxCount, CumulativeAddresses, CumulativeContracts, CumulativeDeployers:
		return true
	}
	return false
}

// Distinct reports whether the metric counts addresses, each once.
func (m Metric) Distinct() bool {
	switch m {
	case ActiveAddresses, ActiveSenders, Deployers:
		return true
	}
	return false
}

// Traced reports whether the metric needs the traces of all blocks: see
// [State.Untraced].
func (m Metric) Traced() bool {
	switch m {
	case Contracts, Deployers, CumulativeContracts, CumulativeDeployers:
		return true
	}
	return false
}

// Of returns the metric's value in a bucket.
func (m Metric) Of(r *Record) Value {
	switch m {
	case ActiveAddresses:
		return whole(r.Addresses)
	case ActiveSenders:
		return whole(r.Senders)
	case CumulativeTxCount:
		return whole(r.TotalTxs)
	case CumulativeAddresses:
		return whole(r.TotalAddresses)
	case CumulativeContracts: // up to the bucket's beginning
		return whole(r.TotalContracts - r.Contracts)
	case CumulativeDeployers:
		return whole(r.TotalDeployers)
	case Contracts:
		return whole(r.Contracts)
	case Deployers:
		return whole(r.Deployers)
	case GasUsed:
		return Value{Num: r.Gas, Den: 1}
	case TxCount:
		return whole(r.Txs)
	case AvgGps:
		return quotient(*new(uint256.Int).Sub(&r.BlockGas, &r.LeadGas), r.Last-r.Prev)
	case MaxGps:
		return r.MaxGas.value()
	case AvgTps:
		return quotient(whole(r.Txs-r.LeadTxs).Num, r.Last-r.Prev)
	case MaxTps:
		return r.MaxTxs.value()
	case AvgGasPrice:
		return quotient(r.PriceSum, r.Txs)
	case MaxGasPrice:
		return Value{Num: r.MaxPrice, Den: 1}
	case FeesPaid:
		return Value{Num: r.Fees, Den: 1}
	}
	panic("rollup: no such metric")
}
