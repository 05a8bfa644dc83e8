# Reads what go test -race printed, and prints the packages in which nothing failed but
# the race detector: it crashes now and then when timers of testing/synctest fire
# (golang/go#78156). It ends with 1 if anything else failed.
/^SIGSEGV: segmentation violation/ { crashed = 1 }
/<runtime\.race|<racecall/         { detector = 1 }
/^ *--- FAIL|DATA RACE|^panic:/    { failed = 1 }
$1 == "FAIL" && NF > 1 {
	if (crashed && detector && !failed) print $2
	else other = 1
	n++
}
($1 == "ok" || $1 == "FAIL" || $1 == "?") && NF > 1 { crashed = detector = failed = 0 }
END { exit other || !n }
