package journal

// Size describes the content of a journal.
type Size struct {
	// Works is the number of Works on disk, and Bytes the sum of the lengths of their files.
	Works int
	Bytes int64
	// Failing says that the journal cannot be written at present.
	Failing bool
}

// Size returns the present size.
func (j *Journal) Size() Size {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := Size{Works: len(j.kept), Failing: j.failing}
	for _, size := range j.sizes {
		out.Bytes += int64(size)
	}
	return out
}
