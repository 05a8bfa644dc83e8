package nodeapi

// The C-Chain's service for imports and exports. The simulated chain's blocks have
// some, but nobody can issue them: no transaction and no output is known by its ID.

type txIDArgs struct {
	TxID chainID `json:"txID"`
}

type utxosArgs struct {
	Addresses []string `json:"addresses"`
	Encoding  string   `json:"encoding"`
}

func (s *Server) avaxService() *service {
	return &service{name: "avax", methods: map[string]method{
		"getAtomicTxStatus": call(func(txIDArgs) (any, error) {
			return struct {
				Status string `json:"status"`
			}{"Unknown"}, nil
		}),
		"getAtomicTx": call(func(txIDArgs) (any, error) { return nil, errNotFound }),
		"getUTXOs": call(func(args utxosArgs) (any, error) {
			return struct {
				NumFetched number   `json:"numFetched"`
				UTXOs      []string `json:"utxos"`
				Encoding   string   `json:"encoding"`
			}{0, []string{}, "hex"}, nil
		}),
	}}
}
