package journal

// Size is how much a journal holds.
type Size struct {
	// Works counts those on disk, and Bytes is how long their files are together.
	Works int
	Bytes int64
	// Failing says that it cannot be written.
	Failing bool
}

// Size returns how much there is now.
func (j *Journal) Size() Size {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := Size{Works: len(j.kept), Failing: j.failing}
	for _, size := range j.sizes {
		out.Bytes += int64(size)
	}
	return out
}
