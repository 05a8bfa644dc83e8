package httpapi

import primaryapi "quorate/httpapi/primary"

// What the primary network is read by.
type (
	PrimaryNetworks = primaryapi.Networks
	PrimaryNetwork  = primaryapi.Network
	PrimaryChain    = primaryapi.Chain
	PrimaryView     = primaryapi.View
	PlatformView    = primaryapi.PlatformView
	VertexView      = primaryapi.VertexView
	AssetView       = primaryapi.AssetView
)
