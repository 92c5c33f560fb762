package memory

const (
	// small is up to how much of the heap may live, in bytes, before garbage is searched for more often than Go does by itself:
	// when the heap has doubled.
	small = 256 << 20
	// usual and frequent are by how many percent a heap grows until the next search: what Go does by itself, and the least. The
	// search costs the more the more lives, so below that memory is dear.
	usual, frequent = 100, 50
)

// Percent is by how many percent a heap, of which so many bytes live, may grow until garbage is searched for again.
func Percent(live uint64) int {
	if live <= small {
		return usual
	}
	return int(max(frequent, small*usual/live))
}
