package memory

const (
	// small is the size of the live heap, in bytes, up to which garbage is collected as by default: when the heap has
	// doubled.
	small = 256 << 20
	// usual and frequent are values of GOGC: Go's default, and the minimum used. A collection costs more the larger the
	// live heap is, so that a lower value would cost too much CPU time for the memory it saves.
	usual, frequent = 100, 50
)

// Percent returns the value of GOGC for a live heap of this size.
func Percent(live uint64) int {
	if live <= small {
		return usual
	}
	return int(max(frequent, small*usual/live))
}
