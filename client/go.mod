module quorate/client

go 1.26.0

require github.com/supranational/blst v0.3.17
