// Package suggest finds the name that a mistyped one was probably meant to be: flags by their
// environment variables, members of bodies, query parameters.
package suggest

import "unicode/utf8"

const (
	// minLetters is the length from which names are compared: shorter ones are
	// similar to too many.
	minLetters = 6
	// maxLetters is the length up to which they are: names come from clients.
	maxLetters = 64
	// maxDistance is how many letters may be wrong, missing, too many or swapped.
	maxDistance = 2
)

// Name returns the known name that is most similar to name and within two letters of
// it, and false if there is none. For a known name there is no suggestion.
func Name(name string, known []string) (string, bool) {
	n := utf8.RuneCountInString(name)
	if n < minLetters || n > maxLetters {
		return "", false
	}
	best, distance := "", maxDistance+1
	for _, k := range known {
		if k == name {
			return "", false
		}
		if d := between([]rune(name), []rune(k)); d < distance {
			best, distance = k, d
		}
	}
	return best, distance <= maxDistance
}

// between counts the letters to change, insert, leave out, or swap with their
// neighbour, to make b of a; beyond maxDistance it may return any larger number.
func between(a, b []rune) int {
	if max(len(a), len(b))-min(len(a), len(b)) > maxDistance {
		return maxDistance + 1
	}
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
